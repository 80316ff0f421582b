"""What Vertex AI's custom training costs: a dated, sourced price table for us-central1 (Iowa)."""

from __future__ import annotations

from typing import Any

from lesson import LessonError, costs
from lesson.costs import LEFT_OUT, SPOT, Estimate, Increment, Price, price, short_name

REGION = "us-central1"
PAGE = "https://cloud.google.com/products/gemini-enterprise-agent-platform/pricing"

# Three public records, of 2026-09-06, 2026-09-08 and 2026-10-07, quote the page with this number.
_N1_STANDARD_4 = Price(0.21849885, PAGE, "2026-10-07", "as on the price page")


def _times(factor: int) -> Price:
    """Return the price of a larger n1-standard machine: N1 is billed by the vCPU and by the GiB.

    Source of that rule: https://cloud.google.com/compute/resource-based-pricing
    """
    sure = f"worked out: {factor} × n1-standard-4"
    return Price(factor * _N1_STANDARD_4.usd, PAGE, _N1_STANDARD_4.read, sure)


MACHINES = {
    "n1-standard-4": _N1_STANDARD_4,
    "n1-standard-8": _times(2),
    "n1-standard-16": _times(4),
    "n1-standard-32": _times(8),
}
GPUS = {
    # To Compute Engine's $0.35 it is as 0.21849885 to that of n1-standard-4: 1.15 to 1.
    "NVIDIA_TESLA_T4": Price(0.4025, PAGE, "", "quoted by others"),
}
# What serves predictions has its own prices. A public record of 2026-06-15 quotes these.
PREDICTION = {
    name: Price(usd, PAGE, "2026-06-15", "quoted by others")
    for name, usd in {
        "n1-standard-2": 0.1095,
        "n1-standard-4": 0.2190,
        "n1-standard-8": 0.4380,
        "n1-standard-16": 0.8760,
    }.items()
}
# Two public records of 2026 quote "billed in 30-second increments"; the page itself was not seen.
INCREMENT = Increment("Vertex AI", 30, PAGE, "2026-10", "quoted by others")


def estimate_cost(
    machine: str,
    gpu: str | None = None,
    replicas: int = 1,
    hours: float = 1.0,
    *,
    gpu_count: int = 1,
    spot: bool = False,
    region: str = REGION,
) -> Estimate:
    """Estimate what `replicas` machines cost in US dollars for `hours` hours, at list price.

    `machine` is a Compute Engine name ("n1-standard-4"), `gpu` a short or full name ("T4"),
    `gpu_count` how many each replica has. Other regions are priced as us-central1, spot as on
    demand, and the estimate says so. Raises LessonError for what Vertex AI does not have, and
    PriceUnknown, which is one, for what the table does not hold.
    """
    notes = [LEFT_OUT]
    if region != REGION:
        notes.append(f"Priced as in {REGION}; {region} may cost more.")
    if spot:
        notes.append(SPOT)
    name = gpu and accelerator_type(gpu)
    return costs.estimate(
        (machine, price(MACHINES, machine, "machine", PAGE)),
        gpu=(short_name(name), price(GPUS, name, "GPU", PAGE)) if name else None,
        gpu_count=gpu_count,
        replicas=replicas,
        hours=hours,
        notes=notes,
        increment=INCREMENT,
    )


def estimate_endpoint(
    machine: str, replicas: int = 1, hours: float = 24.0, *, region: str = REGION
) -> Estimate:
    """Estimate what an endpoint's machines cost in US dollars for `hours` hours, at list price.

    They are billed as long as a model is deployed, with or without requests. Raises PriceUnknown
    for a machine that the table does not hold.
    """
    notes = [LEFT_OUT]
    if region != REGION:
        notes.append(f"Priced as in {REGION}; {region} may cost more.")
    return costs.estimate(
        (machine, price(PREDICTION, machine, "machine", PAGE)),
        replicas=replicas,
        hours=hours,
        notes=notes,
        increment=INCREMENT,
    )


def accelerator_type(gpu: str | None) -> str:
    """Return Vertex AI's name of a GPU that is given by its full or short name, in any case.

    >>> accelerator_type("T4")
    'NVIDIA_TESLA_T4'

    None is no GPU. Raises LessonError for a name that Vertex AI does not know.
    """
    from google.cloud.aiplatform_v1.types import AcceleratorType

    names: Any = AcceleratorType
    if gpu is None:
        return str(names.ACCELERATOR_TYPE_UNSPECIFIED.name)
    full = {short_name(each.name): str(each.name) for each in names if "NVIDIA" in each.name}
    if short_name(gpu.upper()) not in full:
        raise LessonError(f"gpu={gpu!r}: Vertex AI has no such GPU; it knows {', '.join(full)}")
    return full[short_name(gpu.upper())]
