"""Which log streams there are: one for each replica of a training job or an endpoint's variant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local_cloud.engine import log_timestamps
from local_cloud.engine.engine import Engine
from local_cloud.engine.served import ServingState
from local_cloud.engine.serving import Serving

# The group of each kind of jobs, by the name under which the engine has them.
GROUPS = {
    "sagemaker": "/aws/sagemaker/TrainingJobs",
    "sagemaker-processing": "/aws/sagemaker/ProcessingJobs",
}
ENDPOINTS = "/aws/sagemaker/Endpoints"  # and the endpoint's name, VARIANT/REPLICA the stream's
TRANSFORM = "/aws/sagemaker/TransformJobs"
MESSAGE_OVERHEAD = 26  # bytes that the service counts for each event beside its message


@dataclass(frozen=True)
class Stream:
    """A log stream and the file that is behind it."""

    group: str
    name: str  # JOB/algo-N-SECONDS, seconds since the epoch of the start
    log: Path
    created: float  # seconds since the epoch
    ended: bool  # whether nothing more will be written
    hidden: bytes = b""  # what nobody is to read in it


@dataclass(frozen=True)
class Event:
    """A line of a stream; `start` and `end` are byte offsets in its file."""

    stream: str
    stamp: int  # milliseconds since the epoch
    message: str
    start: int
    end: int

    @property
    def size(self) -> int:
        """Bytes, as the service counts them."""
        return len(self.message.encode()) + MESSAGE_OVERHEAD


def streams(engine: Engine, serving: Serving) -> list[Stream]:
    """All of them, in the order of their names."""
    found = [
        Stream(
            GROUPS[job.dialect],
            # A job that is no training job has its kind before its name: processing.NAME.
            f"{job.id.rpartition('.')[2]}/{replica}-{int(job.started)}",
            log,
            job.started,
            job.state.ended,
            engine.hidden,
        )
        for job in engine.jobs()
        if job.dialect in GROUPS and job.started
        for replica, log in engine.logs(job.id).items()
    ]
    found += [
        Stream(
            # A batch transform's deployment has no endpoint; its job's name takes the place.
            TRANSFORM if "/" in deployment.endpoint else f"{ENDPOINTS}/{deployment.endpoint}",
            # A deployment is called VARIANT.ID, with an id that no other one ever had.
            f"{deployment.id.replace('.', '/')}-{replica}",
            log,
            deployment.created,
            deployment.state is ServingState.FAILED,
            engine.hidden,
        )
        for deployment in serving.deployments()
        if deployment.dialect == "sagemaker"
        for replica, log in serving.logs(deployment.id).items()
    ]
    return sorted(found, key=lambda stream: stream.name)


def events(
    stream: Stream, start: int = 0, since: int | None = None, before: int | None = None
) -> Iterator[Event]:
    """The events from byte `start`, stamped from `since` and before `before` (milliseconds).

    CloudWatch Logs has no empty messages (the service model's minimum is 1), so an empty line is
    no event.
    """
    if since is not None:
        # Times are milliseconds, rounded: an event at `since` was written half of one before.
        start = max(start, log_timestamps.since(stream.log, (since - 0.5) / 1000))
    # What has been shown with a time keeps it: a client that goes on from there relies on that.
    marked = math.inf if stream.ended else log_timestamps.mark(stream.log, stream.hidden)
    for line in log_timestamps.lines(stream.log, start, ended=stream.ended):
        stamp = round(line.time * 1000)
        if line.end > marked or (before is not None and stamp >= before):
            return
        if line.text and (since is None or stamp >= since):
            yield Event(stream.name, stamp, line.text, line.start, line.end)
