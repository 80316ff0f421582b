"""Rehearsed failures in SageMaker's words, each with the place where the real message was seen."""

from __future__ import annotations

from collections.abc import Collection

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.client.failures import DEPLOYMENT, FAILURES, IMAGE, NO_QUOTA, REGION, ROLE, STUDY
from local_cloud.engine.spec import JobRefused
from local_cloud.store.records import Records

# https://github.com/zenml-io/zenml/issues/847 (2022-08-15).
QUOTA = (
    "The account-level service limit '{0} for training job usage' is 0 Instances, with current"
    " utilization of 0 Instances and a request delta of {1} Instances. Please contact AWS support"
    " to request an increase for this limit."
)
# https://github.com/awslabs/predictive-maintenance-using-machine-learning/issues/3 (2019-10-06).
ASSUME = (
    "Could not assume role {}. Please ensure that the role exists and allows principal"
    " 'sagemaker.amazonaws.com' to assume the role."
)
# https://github.com/aws/sagemaker-python-sdk/issues/1968 (2020-10-23), after `ClientError: `.
CONTAINER = (
    "Cannot pull algorithm container. Either the image does not exist or its permissions are"
    " incorrect."
)
# S3's sentence, https://github.com/aws-samples/amazon-textract-enhancer/issues/8 (2020-04-20),
# behind the words with which a failed download begins,
# https://github.com/aws/amazon-sagemaker-examples/issues/4384 (2023-08-15): the two were not seen
# together.
BUCKET = (
    "Data download failed:PermanentRedirect (301): The bucket is in this region: eu-west-1. Please"
    " use this region to retry the request"
)
# https://github.com/aws/sagemaker-python-sdk/issues/2496 (2021-06-30).
INTERNAL = "InternalServerError: We encountered an internal error. Please try again."


class FailureMessages:
    """What can meet a failure, and how it shows (engine/rehearsals/failures.py)."""

    def __init__(self, records: Records) -> None:
        """Take the records of what is submitted."""
        self._records = records

    def candidates(self, kind: str, key: str) -> tuple[str, Collection[str]]:
        """Return the name, and the failures: a part of another job is never refused."""
        if kind == STUDY:
            return key, FAILURES
        if kind == DEPLOYMENT:
            facts = self._records.get("sagemaker-deployment", key) or {}
            return (facts["endpoint"], FAILURES) if "endpoint" in facts else ("", ())
        document = self._records.get("training-job", key) or {}
        is_part = document["tuning"] or "autopilot" in document
        return key, FAILURES.keys() - ((NO_QUOTA, ROLE) if is_part else ())

    def problem(self, failure: str, job_id: str) -> ServiceError | JobRefused | None:
        """Return how a training job fails before it runs."""
        if failure in (IMAGE, REGION):
            return JobRefused(CONTAINER if failure == IMAGE else BUCKET)
        request = (self._records.get("training-job", job_id) or {})["request"]
        if failure == ROLE:
            return ServiceError("ValidationException", ASSUME.format(request["RoleArn"]))
        if failure == NO_QUOTA:
            wanted = request["ResourceConfig"]
            message = QUOTA.format(wanted["InstanceType"], wanted["InstanceCount"])
            return ServiceError("ResourceLimitExceeded", message)
        return None
