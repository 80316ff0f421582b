"""A task of a pipeline as it stands, and all tasks of one, on record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from local_cloud.json_types import Json
from local_cloud.store import clock
from local_cloud.store.records import Records

KIND = "vertex-pipeline-task"
GOOD = ("SUCCEEDED", "SKIPPED")  # SKIPPED: "due to cache hit", types/pipeline_job.py
ENDED = (*GOOD, "FAILED", "CANCELLED", "NOT_TRIGGERED")


@dataclass(frozen=True)
class Task:
    """One task; times are seconds since the epoch, artifacts and execution are resource names."""

    path: str  # the names of the tasks around it and its own: "exit-handler-1.train"; "": the root
    id: int
    name: str
    component: str
    kind: str  # container, importer, dag or loop
    state: str  # of types/pipeline_job.py, PipelineTaskDetail.State
    created: float
    parent: int = 0
    started: float | None = None
    ended: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    artifacts: Mapping[str, list[str]] = field(default_factory=dict)
    output_parameters: Mapping[str, Any] = field(default_factory=dict)
    output_artifacts: Mapping[str, list[str]] = field(default_factory=dict)
    jobs: tuple[str, ...] = ()  # of the engine, the latest last
    history: tuple[tuple[float, str], ...] = ()
    execution: str = ""
    fingerprint: str = ""  # by which later tasks find its outputs
    error: str = ""

    @property
    def is_over(self) -> bool:
        """Return whether the state is final."""
        return self.state in ENDED

    @property
    def is_good(self) -> bool:
        """Return whether its outputs can be used."""
        return self.state in GOOD

    def now(self, state: str, **changes: Any) -> Task:
        """Return the task in another state, since now."""
        at = clock.now_after(self.created, self.started, *(at for at, _ in self.history[-1:]))
        history = (*self.history, (at, state))
        if state in ENDED:
            changes.setdefault("ended", at)
        return replace(self, state=state, history=history, **changes)

    @classmethod
    def of(cls, document: Json) -> Task:
        """Read the task of a document."""
        history = tuple((at, state) for at, state in document["history"])
        return cls(**{**document, "history": history, "jobs": tuple(document["jobs"])})


class TaskTable:
    """The tasks of one pipeline job, by path; each is on the disk when put() returns."""

    def __init__(self, records: Records, job: str) -> None:
        """job: the resource name of the pipeline job."""
        self.records, self._job = records, job
        self._tasks = {
            task.path: task
            for _, document in records.list(KIND, f"{job} ")
            for task in [Task.of(document)]
        }

    def put(self, task: Task) -> None:
        """Record a task."""
        self.records.put(KIND, f"{self._job} {task.path}", asdict(task))
        self.records.when_written(lambda: self._tasks.update({task.path: task}))

    def get(self, path: str) -> Task | None:
        """Return the task of this path, or None."""
        return self._tasks.get(path)

    def all(self) -> list[Task]:
        """Return all tasks, in the order in which they were made."""
        return sorted(self._tasks.values(), key=lambda task: (task.created, task.path))

    def delete(self) -> None:
        """Forget them all."""
        self.records.delete_below(KIND, f"{self._job} ")
        self.records.when_written(self._tasks.clear)


def below(path: str, name: str) -> str:
    """Return the path of a task in another."""
    return f"{path}.{name}" if path else name
