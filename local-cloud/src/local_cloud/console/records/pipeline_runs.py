"""Runs of pipelines, of both clouds, as pages show them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from local_cloud.console.records import jobs, resources
from local_cloud.console.site import words
from local_cloud.json_types import Json
from local_cloud.store import readable
from local_cloud.store.records import Records

ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "Succeeded", "Failed", "Stopped")


@dataclass(frozen=True)
class Run:
    """A run of a pipeline, of either cloud."""

    cloud: str
    name: str  # for the service's API
    title: str
    word: str  # its state, in the service's word
    begun: float | None
    ended: float | None
    message: str
    document: Json

    @property
    def has_ended(self) -> bool:
        """Return whether its state is final."""
        return self.word.removeprefix("PIPELINE_STATE_") in ENDED


def every(records: Records) -> Iterator[Run]:
    """Yield all runs of both clouds of which the records can be understood."""
    for kind, make in {"vertex-pipeline": _of_vertex, "pipeline-execution": _of_sagemaker}.items():
        yield from readable.each(kind, records.list(kind), make)


def _of_vertex(name: str, job: Json) -> Run:
    begun, over = map(resources.seconds, (job.get("createTime"), job.get("endTime")))
    message = job.get("error", {}).get("message", "")
    title = job.get("displayName") or words.short(name)
    return Run(jobs.VERTEX, name, title, job.get("state", ""), begun, over, message, job)


def _of_sagemaker(_: str, run: Json) -> Run:
    over = run.get("modified") if run["status"] in ENDED else None
    title = f"{run['pipeline']}, {run.get('display_name') or run['id']}"
    word, message = run["status"], run.get("failure") or ""
    return Run(jobs.SAGEMAKER, run["arn"], title, word, run["created"], over, message, run)


def link(name: str) -> str:
    """Return the page of a run, relative to the console's root."""
    return "pipeline?" + urlencode({"name": name})
