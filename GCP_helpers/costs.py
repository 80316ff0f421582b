"""What Vertex AI's custom training costs, by the prices in local_cloud.prices.google."""

from __future__ import annotations

from typing import Any

from lesson import LessonError
from lesson.money import costs
from lesson.money.costs import Estimate, price, short_name
from local_cloud import prices

google = prices.google
REGION, PAGE = google.REGION, google.PAGE
MACHINES = costs.table(google.TRAINING)
GPUS = costs.table(google.TRAINING_GPUS)
PREDICTION = costs.table(google.PREDICTION)  # what serves predictions has its own prices
AUTOML = costs.Price(*google.AUTOML_TABLES)  # a node hour, for tables
BIGQUERY_ML = costs.Price(*google.BIGQUERY_ML)  # the least that a training is billed
INCREMENT = costs.increment(google.ROUNDING)
# Of a pipeline: the machine of a task that asks for none, and what each run costs besides.
TASK_MACHINE, PIPELINE_RUN = google.TASK_MACHINE, costs.Price(*google.PIPELINE_RUN)


def estimate_cost(
    machine: str,
    gpu: str | None = None,
    replicas: int = 1,
    *,
    hours: float = 1.0,
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
    name = gpu and accelerator_type(gpu)
    return costs.estimate(
        (machine, price(MACHINES, machine, "machine", page=PAGE)),
        gpu=(short_name(name), price(GPUS, name, "GPU", page=PAGE)) if name else None,
        gpu_count=gpu_count,
        replicas=replicas,
        hours=hours,
        notes=costs.notes(region, REGION, spot),
        increment=INCREMENT,
    )


def estimate_endpoint(
    machine: str, replicas: int = 1, hours: float = 24.0, *, region: str = REGION
) -> Estimate:
    """Estimate what an endpoint's machines cost in US dollars for `hours` hours, at list price.

    They are billed as long as a model is deployed, with or without requests. Raises PriceUnknown
    for a machine that the table does not hold.
    """
    return costs.estimate(
        (machine, price(PREDICTION, machine, "machine", page=PAGE)),
        replicas=replicas,
        hours=hours,
        notes=costs.notes(region, REGION, spot=False),
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
