"""Rehearsed failures in Vertex AI's words, each with the place where the real message was seen."""

from __future__ import annotations

from local_cloud.client.failures import IMAGE, LOST_WORKER, MEMORY, NO_QUOTA, REGION, ROLE, SLOW
from local_cloud.engine.rehearsals.failures import Failures
from local_cloud.engine.spec import Refused
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.schema import Json

AT_ONCE = (NO_QUOTA, ROLE, REGION)  # the request is refused
LATER = (IMAGE, MEMORY, LOST_WORKER, SLOW)  # the job is taken, and fails or waits

# Of a custom job, a 429: https://github.com/google-deepmind/xmanager/issues/29 (2022-08-03) and
# https://github.com/GoogleCloudPlatform/stable-diffusion-on-gcp/issues/12 (2023-12-03). A training
# pipeline is taken and fails with code 8:
# https://github.com/GoogleCloudPlatform/vertex-ai-samples/issues/700 (2022-06-30).
QUOTA = "The following quota metrics exceed quota limits: aiplatform.googleapis.com/{}"
# https://github.com/googleapis/python-aiplatform/issues/1073 (2022-03-10): INVALID_ARGUMENT.
ACT_AS = "You do not have permission to act as service_account: {}. (or it may not exist)."
# https://github.com/googleapis/python-aiplatform/issues/885 (2021-12-05): FAILED_PRECONDITION.
LOCATION = (
    "The Cloud Storage bucket of `{}` is in location `us`. It must be in the same regional location"
    " as the service location `{}`."
)
# Of AI Platform, which came before Vertex AI: https://github.com/tensorflow/tfx/issues/3214
# (2021-02-06). No dated message of Vertex AI was found.
CONTAINER = "Failed to read the container uri [{}]. Please make sure that the image exists"
# Of AI Platform, there of the replica "master 0":
# https://github.com/tensorflow/models/issues/5591 (2018-10-29).
OUT_OF_MEMORY = "The replica {} ran out-of-memory and exited with a non-zero status of 9(SIGKILL)."
# https://github.com/tensorflow/cloud/issues/387 (2022-07-28).
INTERNAL = "Internal error occurred for the current attempt."


def refuse(failures: Failures, parent: str, job: Json, *, pipeline: bool) -> None:
    """Refuse the request for a custom job if it is to meet a failure that shows at once.

    pipeline: a training pipeline's, whose lack of quota shows later.
    """
    among = tuple(one for one in AT_ONCE if not (pipeline and one == NO_QUOTA))
    met = failures.meet(among, job["displayName"])
    if met is None:
        return
    spec = job["jobSpec"]
    _, number, _, location = parent.split("/")
    if met.failure == NO_QUOTA:
        raise ApiError("RESOURCE_EXHAUSTED", quota(spec))
    if met.failure == ROLE:
        account = spec.get("serviceAccount") or f"{number}-compute@developer.gserviceaccount.com"
        raise ApiError("INVALID_ARGUMENT", ACT_AS.format(account))
    bucket = spec.get("baseOutputDirectory", {}).get("outputUriPrefix", "gs://your-bucket")
    raise ApiError("FAILED_PRECONDITION", LOCATION.format(bucket, location))


def begin(failures: Failures, job: Json, key: str, *, pipeline: bool) -> None:
    """Note the failure that a job which is taken is to meet, under the engine's id of it."""
    among = (*LATER, NO_QUOTA) if pipeline else LATER
    failures.meet(among, job["displayName"], key)


def check(failures: Failures, job_id: str, spec: Json) -> None:
    """Fail a job that is about to start, if it has met a failure that shows then."""
    met = failures.of(job_id)
    if met and met.failure == IMAGE:
        pool = spec["workerPoolSpecs"][0]
        image = pool.get("containerSpec", {}).get("imageUri")
        image = image or pool.get("pythonPackageSpec", {}).get("executorImageUri")
        raise Refused(CONTAINER.format(image))
    if met and met.failure == NO_QUOTA:
        raise Refused(quota(spec), "quota")


def quota(spec: Json) -> str:
    """Return the message for want of the GPUs, or else the CPUs, of the first worker pool."""
    gpu = spec["workerPoolSpecs"][0].get("machineSpec", {}).get("acceleratorType", "")
    named = isinstance(gpu, str) and gpu.startswith("NVIDIA_")
    kind = gpu.lower().replace("_tesla_", "_") + "_gpus" if named else "cpus"
    return QUOTA.format(f"custom_model_training_{kind}")
