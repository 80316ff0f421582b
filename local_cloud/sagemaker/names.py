"""Names that hold across services: ARNs, and addresses in S3."""

from local_cloud.aws.account import ACCOUNT, REGION


def arn(resource: str) -> str:
    """The name that holds everywhere of one of SageMaker's resources, such as `training-job/x`."""
    return f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:{resource}"


def s3_uri(address: str) -> tuple[str, str]:
    """Bucket and key (or prefix) of an s3:// address; ValueError for another."""
    if not address.startswith("s3://"):
        raise ValueError(f"{address!r} is no s3:// address")
    bucket, _, key = address.removeprefix("s3://").partition("/")
    return bucket, key
