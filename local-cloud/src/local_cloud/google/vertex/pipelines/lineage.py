"""What a pipeline leaves in the metadata store: its contexts, executions, artifacts and events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_cloud.google.vertex.pipelines.task import Task
from local_cloud.google.vertex.resources.schema import new_id
from local_cloud.google.vertex.tracking.metadata import ID, Metadata
from local_cloud.json_types import Json

SCHEMAS = {
    "": "system.Run",  # of the pipeline itself
    "container": "system.ContainerExecution",
    "importer": "system.ImporterExecution",
    "dag": "system.DagExecution",
    "loop": "system.DagExecution",
}
STATES = {  # types/execution.py
    "RUNNING": "RUNNING",
    "SUCCEEDED": "COMPLETE",
    "SKIPPED": "CACHED",
    "FAILED": "FAILED",
    "CANCELLED": "CANCELLED",
}
VERSION = "0.0.1"  # of all the schemas of the kind `system.`
METRICS = re.compile(r"system\.\w*Metrics")


class Lineage:
    """What one pipeline job leaves."""

    def __init__(self, metadata: Metadata, job: Json, pipeline: str) -> None:
        """pipeline: the name that all runs of the same pipeline share."""
        self._metadata = metadata
        self.records = metadata.records
        self.parent = job["name"].rsplit("/", 2)[0]  # project and location
        self.store = f"{self.parent}/metadataStores/default"
        self.pipeline = self._context_name(pipeline)
        self.run = self._context_name(job["name"].rpartition("/")[2])

    def _context_name(self, name: str) -> str:
        chosen = name if ID.fullmatch(name) else f"pipeline-{name.lower()}"
        return f"{self.store}/contexts/{chosen}"

    def begin(self) -> None:
        """Make the contexts of the pipeline and of this run, as far as they are not there."""
        metadata = self._metadata
        if not self.records.get(metadata.stores.kind, self.store):
            metadata.create_store(self.parent, {}, "default")
        for name, schema in ((self.pipeline, "system.Pipeline"), (self.run, "system.PipelineRun")):
            if not self.records.get(metadata.contexts.kind, name):
                chosen = name.rpartition("/")[2]
                body = {"displayName": chosen, "schemaTitle": schema, "schemaVersion": VERSION}
                metadata.create(metadata.contexts, self.store, body, chosen=chosen)
        metadata.add_children(self.pipeline, {"childContexts": [self.run]})

    def contexts(self) -> Json:
        """Return the two contexts, as far as nobody has deleted them."""
        kind = self._metadata.contexts.kind
        names = {
            "pipelineContext": self.records.get(kind, self.pipeline),
            "pipelineRunContext": self.records.get(kind, self.run),
        }
        return {field: context for field, context in names.items() if context}

    # ---- executions -----------------------------------------------------------------------------
    def execution(self, task: Task) -> str:
        """Record that a task is executed with these inputs; returns the execution's name."""
        metadata = self._metadata
        body = {
            "displayName": task.name,
            "schemaTitle": SCHEMAS[task.kind if task.path else ""],
            "schemaVersion": VERSION,
            "state": "RUNNING",
            "metadata": {f"input:{name}": value for name, value in task.parameters.items()},
        }
        name: str = metadata.create(metadata.executions, self.store, body, chosen=new_id())["name"]
        metadata.add_members(self.run, {"executions": [name]})
        if not task.path:  # aiplatform.get_pipeline_df() looks for runs there
            metadata.add_members(self.pipeline, {"executions": [name]})
        self._events(name, "INPUT", task.artifacts)
        return name

    def end(self, task: Task, run: str) -> None:
        """Record how a task has ended and what it has made.

        run: the execution of the pipeline itself, of which the SDK asks the metrics of all tasks.
        """
        execution = self.resource(task.execution)
        if not execution:
            return
        outputs = {f"output:{name}": value for name, value in task.output_parameters.items()}
        changes = {"metadata": execution.get("metadata", {}) | outputs, "state": STATES[task.state]}
        self._metadata.executions.patch(task.execution, changes, "")
        if task.is_good and task.kind in ("container", "importer"):
            self._events(task.execution, "OUTPUT", task.output_artifacts)
            names = [name for each in task.output_artifacts.values() for name in each]
            self._metadata.add_members(self.run, {"artifacts": self.there(names)})
            self._events(run, "OUTPUT", self._metrics(task))

    def _metrics(self, task: Task) -> Mapping[str, list[str]]:
        """Return the metrics among what a task has made, by a name that no other task's have."""
        return {
            f"{task.path}.{key}": [name for name in names if self._is_metrics(name)]
            for key, names in task.output_artifacts.items()
        }

    def _is_metrics(self, name: str) -> bool:
        return bool(METRICS.fullmatch(self.resource(name).get("schemaTitle", "")))

    def _events(self, execution: str, kind: str, artifacts: Mapping[str, list[str]]) -> None:
        events = [
            {"artifact": name, "type": kind, "labels": {"name": key}}
            for key, names in artifacts.items()
            for name in self.there(names)
        ]
        self._metadata.add_events(execution, {"events": events})

    # ---- artifacts ------------------------------------------------------------------------------
    def artifact(self, key: str, kind: Json, uri: str, *, state: str, metadata: Any = None) -> str:
        """Record an artifact; returns its name. kind: its artifactType in the pipeline."""
        body = {
            "displayName": key,
            "schemaTitle": kind.get("schemaTitle", "system.Artifact"),
            "schemaVersion": kind.get("schemaVersion", VERSION),
            "uri": uri,
            "state": state,
            "metadata": metadata or {},
        }
        store = self._metadata
        name: str = store.create(store.artifacts, self.store, body, chosen=new_id())["name"]
        return name

    def complete(self, name: str, changes: Json) -> None:
        """Record that an artifact is made.

        changes: the URI and the metadata that its task has given it.
        """
        if self.resource(name):
            self._metadata.artifacts.patch(name, {**changes, "state": "LIVE"}, "")

    def find_imported(self, kind: Json, uri: str) -> str:
        """Return the name of an artifact that there is already for this URI.

        "" if there is none.
        """
        for artifact in self._metadata.artifacts.children(self.store):
            if artifact.get("uri") == uri and artifact["schemaTitle"] == kind.get("schemaTitle"):
                return str(artifact["name"])
        return ""

    def resource(self, name: str) -> Json:
        """Return an execution or an artifact; empty if it has been deleted."""
        noun = name.rsplit("/", 2)[-2] if name else "executions"
        return self.records.get(f"vertex-{noun}", name) or {}

    def there(self, names: list[str]) -> list[str]:
        """Return those of the artifacts that nobody has deleted."""
        return [name for name in names if self.resource(name)]
