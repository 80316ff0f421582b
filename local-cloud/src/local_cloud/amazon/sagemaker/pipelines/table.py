"""Executions of pipelines and their steps, as they are on record."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from local_cloud.json_types import Json
from local_cloud.store import clock
from local_cloud.store.records import Records

EXECUTION, STEP, CACHE = "pipeline-execution", "pipeline-step", "pipeline-cache"
ENDED = ("Succeeded", "Failed", "Stopped")


class PipelineTable:
    """Executions by id, steps by `EXECUTION/STEP`, results that may be used again."""

    def __init__(self, records: Records) -> None:
        """Keep them as documents in the records."""
        self.records = records

    def get(self, execution: str) -> Json | None:
        """Return the execution with this id."""
        return self.records.get(EXECUTION, execution)

    def all(self) -> Iterator[Json]:
        """Return all executions of all pipelines."""
        return (document for _, document in self.records.list(EXECUTION))

    def put(self, execution: str, **changes: Any) -> Json:
        """Record a new execution, or what has changed of one."""
        document = (self.get(execution) or {}) | changes
        document["modified"] = clock.now_after(document.get("created"))
        self.records.put(EXECUTION, execution, document)
        return document

    def steps(self, execution: str) -> dict[str, Json]:
        """Return the steps that have begun, by name."""
        documents = self.records.list(STEP, f"{execution}/")
        return {document["name"]: document for _, document in documents}

    def step(self, execution: str, name: str) -> Json:
        """Return a step; {} of one that has not begun."""
        return self.records.get(STEP, f"{execution}/{name}") or {}

    def put_step(self, execution: str, name: str, **changes: Any) -> Json:
        """Record a step that begins, or what has changed of one."""
        key = f"{execution}/{name}"
        document = {"name": name} | self.step(execution, name) | changes
        if "end" in document:  # the clock may have been set back since its start
            document["end"] = max(document["end"], document["start"])
        self.records.put(STEP, key, document)
        return document

    def forget(self, execution: str) -> None:
        """Remove an execution with its steps."""
        with self.records.transaction():
            self.records.delete_below(STEP, f"{execution}/")
            self.records.delete(EXECUTION, execution)

    # ---- results that may be used again -----------------------------------------------------
    def find_cached(self, pipeline: str, step: str, key: str, *, keeps: float) -> Json | None:
        """Return the latest result of a step with the same arguments, if it is not too old."""
        cached = self.records.get(CACHE, f"{pipeline}/{step}/{key}")
        return cached if cached and time.time() - cached["time"] <= keeps else None

    def keep(self, pipeline: str, step: str, key: str, *, result: Json) -> None:
        """Keep the result of a step, for others with the same arguments."""
        self.records.put(CACHE, f"{pipeline}/{step}/{key}", result | {"time": time.time()})

    def forget_results(self, pipeline: str) -> None:
        """Remove the results of a pipeline's steps."""
        self.records.delete_below(CACHE, f"{pipeline}/")
