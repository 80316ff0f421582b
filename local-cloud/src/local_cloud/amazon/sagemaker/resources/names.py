"""Names that hold across services: ARNs and URIs."""

import re
from urllib.parse import unquote, urlsplit

from local_cloud.amazon.account import ACCOUNT
from local_cloud.client.environment import REGION

# S3's hosts, with a bucket's name before them or not.
S3_HOST = re.compile(
    r"(?:(?P<bucket>[a-z0-9.-]+)\.)?s3(?:[.-][a-z]{2}(?:-[a-z]+)+-\d)?\.amazonaws\.com"
)
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


def split_data_uri(uri: str) -> tuple[str, str]:
    """Return bucket and key of model data: s3://BUCKET/KEY, or S3's own URL of it.

    Source: "Methods for accessing a bucket" in the user guide of S3 (read 2026). Raises ValueError
    for another host.
    """
    if not uri.startswith("https://"):
        return split_s3_uri(uri)
    parts = urlsplit(uri)
    host = S3_HOST.fullmatch(parts.netloc)
    if not host:
        raise ValueError(f"{uri!r} is not the URL of an object in S3")
    path = unquote(parts.path.removeprefix("/"))
    if host["bucket"]:
        return host["bucket"], path
    bucket, _, key = path.partition("/")
    return bucket, key


def variant_of(deployment_id: str) -> str:
    """Return the variant that a deployment of the engine is: its id begins with the name."""
    return deployment_id.rpartition(".")[0]
