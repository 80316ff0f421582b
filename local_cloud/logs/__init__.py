"""Amazon CloudWatch Logs: what the jobs' own log files hold."""

from local_cloud.logs.operations import service

__all__ = ["service"]
