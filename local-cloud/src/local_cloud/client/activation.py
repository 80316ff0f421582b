"""Point this process's real SDKs at the local cloud, and keep them from going anywhere else."""

from __future__ import annotations

import os

from local_cloud.client import control, revival
from local_cloud.client.environment import find_misleading, merge_environment
from local_cloud.client.gcloud import write_configuration
from local_cloud.client.sdks import HOOKS
from local_cloud.client.sdks.after_import import after_import
from local_cloud.client.sdks.redaction import redact_log_records
from local_cloud.client.target import require_local


def activate() -> control.Status:
    """Start the local cloud if need be, and point this process's SDKs at it.

    Unchanged code then works: `storage.Client()`, `aiplatform.init(project=..., location=...,
    staging_bucket=...)`, `boto3.client("s3")`, `ModelTrainer(...)`. It may be called before or
    after the SDKs are imported, and again; a client that was made before it is stopped when it
    is used. A server that the environment names (`python -m local_cloud env`) is used as it is.
    Raises LocalCloudError if the target is the cloud, or if the server does not start.
    """
    require_local("so the SDKs stay with the real one; unset it to work locally")
    server = control.in_use()
    wanted = merge_environment(os.environ, server)
    for name in find_misleading(os.environ):
        del os.environ[name]
    os.environ.update(wanted)
    write_configuration(server.home, server.port, os.environ["GOOGLE_CLOUD_PROJECT"])
    revival.use(server)
    redact_log_records()
    for module, hook in HOOKS.items():
        after_import(module, hook)
    return server
