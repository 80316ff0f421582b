"""Which log streams there are: one for each replica of a training job or an endpoint's variant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.logs import job_files, log_timestamps
from local_cloud.engine.serving.deployments import Deployments
from local_cloud.engine.serving.spec import NoSuchDeployment, ServingState
from local_cloud.engine.spec import NoSuchJob

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
    """A line of a stream, and when it was written."""

    stream: str
    stamp: int  # milliseconds since the epoch
    line: log_timestamps.Line
    hidden: bytes  # what nobody is to read in it

    @property
    def start(self) -> int:
        """Return the byte with which it begins."""
        return self.line.start

    @property
    def end(self) -> int:
        """Return the byte behind it."""
        return self.line.end

    @cached_property
    def message(self) -> str:
        """Return what it says; a long one is read from its file only now."""
        return job_files.mask(self.line.text, self.hidden)

    @property
    def size(self) -> int:
        """Return its bytes, as the service counts them."""
        return len(self.message.encode()) + MESSAGE_OVERHEAD


def streams(engine: JobQueue, serving: Deployments) -> list[Stream]:
    """Return all of them, in the order of their names."""
    every = [
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
        for replica, log in _job_logs(engine, job.id).items()
    ]
    every += [
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
        for replica, log in _deployment_logs(serving, deployment.id).items()
    ]
    return sorted(every, key=lambda stream: stream.name)


def _job_logs(engine: JobQueue, job_id: str) -> dict[str, Path]:
    """Return the logs of a job.

    There are none if it has been deleted meanwhile, for this runs in a thread.
    """
    with suppress(NoSuchJob):
        return engine.logs(job_id)
    return {}


def _deployment_logs(serving: Deployments, deployment_id: str) -> dict[str, Path]:
    """Return the logs of a deployment; none if it has been removed meanwhile."""
    with suppress(NoSuchDeployment):
        return serving.logs(deployment_id)
    return {}


def events(
    stream: Stream, start: int = 0, *, since: int | None = None, before: int | None = None
) -> Iterator[Event]:
    """Yield the lines from byte `start`, stamped from `since` and before `before` (milliseconds).

    CloudWatch Logs has no empty messages (the service model's minimum is 1): an empty line is no
    event, but whoever searches has to read it, too.
    """
    if since is not None:
        start = max(start, log_timestamps.since(stream.log, _earliest(since)))
    marked = log_timestamps.mark_readable(stream.log, stream.hidden, ended=stream.ended)
    for line in log_timestamps.lines(stream.log, start, ended=stream.ended):
        event = _event(stream, line)
        if line.end > marked or (before is not None and event.stamp >= before):
            return
        if since is None or event.stamp >= since:
            yield event


def events_before(
    stream: Stream, end: int | None, *, since: int | None = None, before: int | None = None
) -> Iterator[Event]:
    """Yield the lines before byte `end` (None: all), the last one first; else as in events."""
    log = stream.log
    if end is None:
        written = job_files.stat_log(log)
        end = written.st_size if written else 0
    end = min(end, log_timestamps.mark_readable(log, stream.hidden, ended=stream.ended))
    if before is not None:
        place = log_timestamps.since(log, _earliest(before))  # one more line may be earlier
        end = min(end, next((line.end for line in log_timestamps.lines(log, place)), end))
    for line in log_timestamps.lines_before(log, end, ended=stream.ended):
        event = _event(stream, line)
        if since is not None and event.stamp < since:
            return
        if before is None or event.stamp < before:
            yield event


def _earliest(stamp: int) -> float:
    """Return the earliest time that a stamp may stand for, in seconds.

    A stamp is in milliseconds, and rounded.
    """
    return (stamp - 0.5) / 1000


def _event(stream: Stream, line: log_timestamps.Line) -> Event:
    return Event(stream.name, round(line.time * 1000), line, stream.hidden)
