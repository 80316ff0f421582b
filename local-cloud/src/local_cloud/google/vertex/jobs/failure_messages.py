"""Rehearsed failures in Vertex AI's words, each with the place where the real message was seen."""

from __future__ import annotations

from collections.abc import Collection

from local_cloud.client.failures import DEPLOYMENT, FAILURES, IMAGE, NO_QUOTA, REGION, ROLE, STUDY
from local_cloud.engine.spec import JobRefused
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.models.registry import DEPLOYED
from local_cloud.google.vertex.resources import documents
from local_cloud.json_types import Json
from local_cloud.store.records import Records

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


class FailureMessages:
    """What can meet a failure, and how it shows (engine/rehearsals/failures.py)."""

    def __init__(self, records: Records) -> None:
        """Take the records of what is submitted."""
        self._records = records

    def candidates(self, kind: str, key: str) -> tuple[str, Collection[str]]:
        """Return the display name, and the failures: a trial or a task is never refused."""
        if kind == STUDY:
            return documents.get(self._records, key)["displayName"], FAILURES
        if kind == DEPLOYMENT:
            facts = self._records.get(DEPLOYED, key) or {}
            endpoint = self._records.get("vertex-endpoints", facts["endpoint"])
            return (endpoint["displayName"], FAILURES) if endpoint else ("", ())
        document = self._document(key)
        if "automl" in document:
            return "", ()
        is_part = "tuning" in document or "pipelineJob" in document
        at_once = (NO_QUOTA, ROLE, REGION) if is_part else ()
        return document["resource"]["displayName"], FAILURES.keys() - at_once

    def problem(self, failure: str, job_id: str) -> ApiError | JobRefused | None:
        """Return how a job fails before it runs; a training pipeline is taken without quota."""
        document = self._document(job_id)
        _, number, _, location, *_ = document["resource"]["name"].split("/")
        spec = document["resource"]["jobSpec"]
        if failure == IMAGE:
            pool = spec["workerPoolSpecs"][0]
            image = pool.get("containerSpec", {}).get("imageUri")
            image = image or pool.get("pythonPackageSpec", {}).get("executorImageUri")
            return JobRefused(CONTAINER.format(image))
        if failure == NO_QUOTA:
            is_taken = "pipeline" in document
            message = QUOTA.format(_quota(spec))
            return (
                JobRefused(message, "quota")
                if is_taken
                else ApiError("RESOURCE_EXHAUSTED", message)
            )
        if failure == ROLE:
            account = (
                spec.get("serviceAccount") or f"{number}-compute@developer.gserviceaccount.com"
            )
            return ApiError("INVALID_ARGUMENT", ACT_AS.format(account))
        if failure == REGION:
            bucket = spec.get("baseOutputDirectory", {}).get("outputUriPrefix", "gs://your-bucket")
            return ApiError("FAILED_PRECONDITION", LOCATION.format(bucket, location))
        return None

    def _document(self, job_id: str) -> Json:
        place = self._records.get("vertex-job", job_id) or {}
        return documents.get(self._records, place["name"])


def _quota(spec: Json) -> str:
    """Return the name of the quota of the GPUs, or else the CPUs, of the first worker pool."""
    gpu = spec["workerPoolSpecs"][0].get("machineSpec", {}).get("acceleratorType", "")
    named = isinstance(gpu, str) and gpu.startswith("NVIDIA_")
    kind = gpu.lower().replace("_tesla_", "_") + "_gpus" if named else "cpus"
    return f"custom_model_training_{kind}"
