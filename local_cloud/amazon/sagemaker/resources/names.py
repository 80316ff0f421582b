"""Names that hold across services: ARNs and URIs."""

from local_cloud.amazon.account import ACCOUNT
from local_cloud.client.environment import REGION

LOGS_OF_ENDPOINTS = "/aws/sagemaker/Endpoints"  # and the endpoint's name: a log group


def arn(resource: str) -> str:
    """Return the full name of one of SageMaker's resources, such as `training-job/x`."""
    return f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:{resource}"


def split_s3_uri(uri: str) -> tuple[str, str]:
    """Return bucket and key (or prefix) of an s3:// URI; ValueError for another."""
    if not uri.startswith("s3://"):
        raise ValueError(f"{uri!r} is not an s3:// URI")
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


def variant_of(deployment_id: str) -> str:
    """Return the variant that a deployment of the engine is: its id begins with the name."""
    return deployment_id.rpartition(".")[0]
