"""Which earlier task of the same pipeline has made the outputs of a task already.

Source: Vertex AI's page "Configure execution caching" (read 2026): what counts is the pipeline's
name, the component with its image and command, and its inputs.
"""

from __future__ import annotations

import hashlib
import json

from local_cloud.google.vertex.pipelines.lineage import Lineage
from local_cloud.google.vertex.pipelines.spec import PipelineSpec
from local_cloud.google.vertex.pipelines.task import Task
from local_cloud.json_types import Json
from local_cloud.store.records import Records

KIND = "vertex-pipeline-cache"


def fingerprint(task: Task, wanted: Json, spec: PipelineSpec) -> str:
    """Return what two tasks have in common that make the same; "" for one that is not cached."""
    options = wanted.get("cachingOptions", {})
    if not options.get("enableCache"):
        return ""
    component = {**spec.component(task.component)}
    component.pop("executorLabel")
    facts = {
        "pipeline": spec.name,
        "component": component,
        "executor": spec.executor(spec.component(task.component)),
        "parameters": dict(task.parameters),
        "artifacts": dict(task.artifacts),
        "key": options.get("cacheKey", ""),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def note(task: Task, lineage: Lineage) -> None:
    """Keep what a task has made for later ones."""
    if task.fingerprint and task.state == "SUCCEEDED":
        document = {
            "execution": task.execution,
            "parameters": dict(task.output_parameters),
            "artifacts": dict(task.output_artifacts),
        }
        lineage.records.put(KIND, _name(lineage, task.fingerprint), document)


def find(records: Records, lineage: Lineage, key: str) -> Json | None:
    """Return what an earlier task has made, unless its execution or artifacts were deleted."""
    document = records.get(KIND, _name(lineage, key)) if key else None
    if document is None or not lineage.resource(document["execution"]):
        return None
    names = [name for each in document["artifacts"].values() for name in each]
    return document if lineage.there(names) == names else None


def _name(lineage: Lineage, key: str) -> str:
    return f"{lineage.store} {key}"  # a cache is one project's, in one region
