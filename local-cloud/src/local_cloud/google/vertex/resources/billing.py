"""What Vertex AI would rent out for a job or a deployed model: the words of its bill."""

from __future__ import annotations

import time

from local_cloud.billing.run_records import Run
from local_cloud.engine.rental import Machines, RentedResource
from local_cloud.json_types import Json

CLOUD = "vertex"
NO_GPU = "ACCELERATOR_TYPE_UNSPECIFIED"


def of_job(document: Json) -> RentedResource:
    """Return the machines of a custom job, each pool's.

    It is ended by the study, pipeline job or training pipeline that it works for, if there is one.
    """
    resource: Json = document["resource"]
    spec = resource["jobSpec"]
    machines = tuple(
        _machines(pool["machineSpec"], int(pool["replicaCount"]))
        for pool in spec["workerPoolSpecs"]
        if pool
    )
    spot = spec.get("scheduling", {}).get("strategy") == "SPOT"
    if tuning := document.get("tuning"):
        return RentedResource(CLOUD, "tuning trial", resource["name"], machines, tuning, spot)
    if pipeline_job := document.get("pipelineJob"):
        return RentedResource(
            CLOUD, "pipeline task", resource["name"], machines, pipeline_job, spot
        )
    if pipeline := document.get("pipeline"):
        return RentedResource(
            CLOUD, "training pipeline", resource["name"], machines, pipeline, spot
        )
    return RentedResource(CLOUD, "custom job", resource["name"], machines, spot=spot)


def run_of(pipeline_job: str) -> Run:
    """Return the run of a pipeline that begins now: it costs a fee besides its tasks' machines."""
    return Run(CLOUD, "pipeline run", pipeline_job, time.time())


def of_automl(name: str, is_image: bool, scale: float) -> RentedResource:
    """Return the node of an AutoML training; scale: seconds of its budget in a second here."""
    kind = "AutoML image training" if is_image else "AutoML table training"
    return RentedResource(CLOUD, kind, name, (Machines("a node of AutoML"),), scale=scale)


def of_deployed(kind: str, owner: str, deployed: Json) -> RentedResource:
    """Return the machine of each replica of a model on an endpoint, or in a batch prediction."""
    spec = deployed.get("dedicatedResources", {}).get("machineSpec", {})
    spot = bool(deployed.get("dedicatedResources", {}).get("spot"))
    return RentedResource(CLOUD, kind, owner, (_machines(spec, 1),), spot=spot)


def _machines(spec: Json, count: int) -> Machines:
    gpu = spec.get("acceleratorType", NO_GPU)
    gpus = int(spec.get("acceleratorCount", 0))
    return Machines(spec.get("machineType", ""), count, "" if gpu == NO_GPU else gpu, gpus)
