"""What the lesson series asks about its notebook instance and its bucket, by the same names.

These need no connect(), and no SageMaker SDK: boto3 alone.
"""

from __future__ import annotations

from typing import Any

from AWS_helpers.session import point_sdks, refusals
from lesson import LessonError
from local_cloud import prices

GB = 2**30  # bytes; Amazon's GB of storage
GB_MONTH = prices.amazon.STORAGE.usd  # S3 Standard in us-east-1, for the first 50 TB
FIRST_TIER = 50 * 1024  # GB


def get_notebook_instance_info(notebook_instance_name: str) -> dict[str, Any]:
    """Return the description of a notebook instance, among it InstanceType and its status.

    Raises LessonError if there is none of that name.
    """
    sagemaker = _client("sagemaker")
    with refusals(f"notebook instance {notebook_instance_name}"):
        try:
            description: dict[str, Any] = sagemaker.describe_notebook_instance(
                NotebookInstanceName=notebook_instance_name
            )
        except sagemaker.exceptions.ClientError as refusal:
            if "RecordNotFound" not in str(refusal):
                raise
            raise LessonError(
                f"there is no notebook instance {notebook_instance_name} in this region; "
                "boto3.client('sagemaker').list_notebook_instances() shows all"
            ) from None
    return description


def get_s3_bucket_size(bucket_name: str) -> dict[str, float]:
    """Return the size of a bucket: `objects`, `bytes`, and as `size_mb` and `size_gb`."""
    sizes: list[int] = []
    with refusals(f"bucket {bucket_name}"):
        for page in _client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket_name):
            sizes += [each["Size"] for each in page.get("Contents", [])]
    size = sum(sizes)
    return {
        "objects": len(sizes),
        "bytes": size,
        "size_mb": size / 2**20,
        "size_gb": size / GB,
    }


def calculate_s3_storage_cost(bucket_name: str) -> float:
    """Return US dollars a month for what a bucket holds, at list price; requests are not included.

    Raises LessonError for more than 50 TB, which cost less by the GB.
    """
    size = get_s3_bucket_size(bucket_name)["size_gb"]
    if size > FIRST_TIER:
        raise LessonError(
            f"{bucket_name} holds {size:.0f} GB; see https://aws.amazon.com/s3/pricing/"
        )
    return size * GB_MONTH


def _client(service: str) -> Any:
    """boto3's client in the region of this machine's own settings."""
    import boto3

    point_sdks()
    return boto3.client(service)
