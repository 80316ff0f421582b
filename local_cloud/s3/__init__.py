"""Amazon S3, a second dialect of the store."""

from local_cloud.s3.routes import storage

__all__ = ["storage"]
