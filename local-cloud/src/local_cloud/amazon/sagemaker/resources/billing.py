"""What SageMaker would rent out for a job, a variant or a notebook: the words of its bill."""

from __future__ import annotations

from local_cloud.engine.rental import Machines, RentedResource
from local_cloud.json_types import Json

CLOUD = "sagemaker"


def of_job(request: Json, tuning: str = "", autopilot: str = "") -> RentedResource:
    """Return the instances of a training job.

    tuning, autopilot: the ARN of the job that it works for.
    """
    resources = request["ResourceConfig"]
    machines = (Machines(resources.get("InstanceType", ""), resources["InstanceCount"]),)
    spot = bool(request.get("EnableManagedSpotTraining"))
    kind = "tuning trial" if tuning else "Autopilot job" if autopilot else "training job"
    owner = (tuning or autopilot).rpartition("/")[2]
    return RentedResource(CLOUD, kind, request["TrainingJobName"], machines, owner, spot)


def of_processing(request: Json) -> RentedResource:
    """Return the instances of a processing job."""
    cluster = request["ProcessingResources"]["ClusterConfig"]
    machines = (Machines(cluster["InstanceType"], cluster["InstanceCount"]),)
    return RentedResource(CLOUD, "processing job", request["ProcessingJobName"], machines)


def of_instances(kind: str, name: str, resources: Json) -> RentedResource:
    """Return the type of the instances that an endpoint's variant, or a transform job, asks for."""
    return RentedResource(CLOUD, kind, name, (Machines(resources.get("InstanceType", "")),))
