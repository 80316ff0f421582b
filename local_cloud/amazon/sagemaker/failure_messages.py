"""Rehearsed failures in SageMaker's words, each with the place where the real message was seen."""

from __future__ import annotations

from typing import Any

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.client.failures import IMAGE, LOST_WORKER, MEMORY, NO_QUOTA, REGION, ROLE, SLOW
from local_cloud.engine.rehearsals.failures import Failures
from local_cloud.engine.spec import Refused

Json = dict[str, Any]

AT_ONCE = (NO_QUOTA, ROLE)  # the request is refused
LATER = (IMAGE, REGION, MEMORY, LOST_WORKER, SLOW)  # the job is taken, and fails or waits

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


def refuse(failures: Failures, request: Json) -> None:
    """Refuse the request for a training job if it is to meet a failure that shows at once."""
    met = failures.meet(AT_ONCE, request["TrainingJobName"])
    if met and met.failure == NO_QUOTA:
        wanted = request["ResourceConfig"]
        message = QUOTA.format(wanted["InstanceType"], wanted["InstanceCount"])
        raise ServiceError("ResourceLimitExceeded", message)
    if met:
        raise ServiceError("ValidationException", ASSUME.format(request["RoleArn"]))


def begin(failures: Failures, name: str) -> None:
    """Note the failure that a job which is taken is to meet."""
    failures.meet(LATER, name, name)


def check(failures: Failures, name: str) -> None:
    """Fail a job that is about to start, if it has met a failure that shows then."""
    met = failures.of(name)
    if met and met.failure == IMAGE:
        raise Refused(CONTAINER)
    if met and met.failure == REGION:
        raise Refused(BUCKET)
