"""What a job of SageMaker prints, as CloudWatch Logs has it."""

from __future__ import annotations

from typing import Any

LOG_GROUP = "/aws/sagemaker/TrainingJobs"


class Log:
    """What the instances of a job print, as CloudWatch Logs has it."""

    def __init__(self, logs: Any, name: str) -> None:
        """Begin with the first line; `logs` is boto3's client of CloudWatch Logs."""
        self.prefix, self._logs, self._since = f"{name}/", logs, 0

    def news(self) -> list[str]:
        """Return the lines since the last call; those of its last moment may come again."""
        lines: list[str] = []
        try:
            for page in self._logs.get_paginator("filter_log_events").paginate(
                logGroupName=LOG_GROUP, logStreamNamePrefix=self.prefix, startTime=self._since
            ):
                for event in page["events"]:
                    self._since = max(self._since, event["timestamp"])
                    lines.append(event["message"])
        except self._logs.exceptions.ResourceNotFoundException:
            pass  # before the first job of an account there is no such group
        return lines
