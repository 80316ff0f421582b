"""Which price and which rule of rounding is for what: of each service's word, the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from local_cloud.billing import query_records
from local_cloud.billing.prices import ListPrice, Rounding, amazon, google

SERVICES = {"vertex": "Vertex AI", "sagemaker": "SageMaker"}


@dataclass(frozen=True)
class Tariff:
    """The prices of machines by the hour, by type; a GPU has one of its own at Google."""

    machines: Mapping[str, ListPrice] = field(default_factory=dict)
    gpus: Mapping[str, ListPrice] = field(default_factory=dict)
    # A job that was interrupted is billed for all its attempts together, and rounded once; of an
    # endpoint, every replica is rounded each time that it ran.
    together: bool = True


_GOOGLE_JOB = Tariff(google.TRAINING, google.TRAINING_GPUS)
_AMAZON_JOB = Tariff(amazon.TRAINING)
TARIFFS = {
    ("vertex", "custom job"): _GOOGLE_JOB,
    ("vertex", "training pipeline"): _GOOGLE_JOB,
    ("vertex", "tuning trial"): _GOOGLE_JOB,
    ("vertex", "pipeline task"): _GOOGLE_JOB,
    ("vertex", "AutoML table training"): Tariff({"a node of AutoML": google.AUTOML_TABLES}),
    ("vertex", "AutoML image training"): Tariff({"a node of AutoML": google.AUTOML_IMAGES}),
    ("vertex", "batch prediction"): Tariff(google.PREDICTION),
    ("vertex", "endpoint"): Tariff(google.PREDICTION, together=False),
    ("sagemaker", "training job"): _AMAZON_JOB,
    ("sagemaker", "tuning trial"): _AMAZON_JOB,
    ("sagemaker", "Autopilot job"): _AMAZON_JOB,
    ("sagemaker", "processing job"): Tariff(amazon.PROCESSING),
    ("sagemaker", "transform job"): Tariff(amazon.TRANSFORM),
    ("sagemaker", "endpoint"): Tariff(amazon.HOSTING, together=False),
    ("sagemaker", "notebook instance"): Tariff(amazon.NOTEBOOKS, together=False),
}
ROUNDINGS: Mapping[str, Rounding] = {"vertex": google.ROUNDING, "sagemaker": amazon.ROUNDING}
# Of bytes that are processed, by what processes them; what is missing has no known price.
QUERIES = {
    query_records.QUERY: google.QUERY,
    query_records.CREATE_MODEL: google.CREATE_MODEL,
}
RUNS = {("vertex", "pipeline run"): google.PIPELINE_RUN}
STORAGE = {"gs": ("Cloud Storage", google.STORAGE), "s3": ("S3", amazon.STORAGE)}


def tariff(cloud: str, kind: str) -> Tariff:
    """Return the tariff of what a service calls so; one without prices, if there is none."""
    return TARIFFS.get((cloud, kind), Tariff())
