"""What training and endpoints cost on SageMaker (local_cloud.prices.amazon)."""

from __future__ import annotations

from lesson import LessonError
from lesson.money import costs
from lesson.money.costs import Estimate, price, short_name
from local_cloud import prices

amazon = prices.amazon
REGION, PAGE = amazon.REGION, amazon.PAGE
MACHINE = "ml.m5.xlarge"  # what a job runs on unless another is named
MACHINES = costs.table(amazon.TRAINING)
HOSTING = costs.table(amazon.HOSTING)  # what serves predictions has its own prices
INCREMENT = costs.increment(amazon.ROUNDING)
# On SageMaker a GPU is part of the instance type: the families, by the GPU that they have.
FAMILIES = {"T4": "ml.g4dn.", "A10G": "ml.g5."}


def estimate_cost(
    machine: str,
    gpu: str | None = None,
    replicas: int = 1,
    *,
    hours: float = 1.0,
    spot: bool = False,
    region: str = REGION,
) -> Estimate:
    """Estimate what `replicas` instances cost in US dollars for `hours` hours, at list price.

    `machine` is an instance type ("ml.m5.xlarge"); `gpu` a short or full name ("T4"), as in
    machine_with(). Other regions are priced as us-east-1, spot as on demand, and the estimate says
    so. Raises LessonError for a GPU that the instance type does not have, and PriceUnknown, which
    is one, for what the table does not hold.
    """
    machine = machine_with(machine, gpu)
    return costs.estimate(
        (machine, price(MACHINES, machine, "instance type", page=PAGE)),
        replicas=replicas,
        hours=hours,
        notes=costs.notes(region, REGION, spot),
        increment=INCREMENT,
    )


def estimate_endpoint(
    machine: str, replicas: int = 1, hours: float = 24.0, *, region: str = REGION
) -> Estimate:
    """Estimate what an endpoint's instances cost in US dollars for `hours` hours, at list price.

    They are billed as long as the endpoint is there, with or without requests. Raises PriceUnknown
    for an instance type that the table does not hold.
    """
    return costs.estimate(
        (machine, price(HOSTING, machine, "instance type", page=PAGE)),
        replicas=replicas,
        hours=hours,
        notes=costs.notes(region, REGION, spot=False),
        increment=INCREMENT,
    )


def machine_with(machine: str, gpu: str | None) -> str:
    """Return the instance type with this GPU: the one named, or the smallest for the default.

    >>> machine_with("ml.m5.xlarge", "T4")
    'ml.g4dn.xlarge'

    Raises LessonError for a GPU that is not known here, and for an instance type without it.
    """
    if gpu is None:
        return machine
    family = FAMILIES.get(short_name(gpu.upper()))
    if family is None:
        known = ", ".join(f"{name} ({family}*)" for name, family in FAMILIES.items())
        raise LessonError(
            f"gpu={gpu!r}: known here are {known}; for another GPU name the instance type that has "
            "it as machine, and leave gpu out"
        )
    if machine == MACHINE:
        return f"{family}xlarge"
    if not machine.startswith(family):
        raise LessonError(
            f"machine={machine!r} has no {gpu}: on SageMaker a GPU is part of the instance type; "
            f"name one of {family}*, or leave machine out"
        )
    return machine
