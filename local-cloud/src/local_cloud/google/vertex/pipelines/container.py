"""A pipeline's task as a custom job: what its container is given, and what it leaves.

Sources: ExecutorInput and ExecutorOutput in kfp's pipeline_spec.proto; the folders are those of
types/pipeline_job.py, gcs_output_directory, as the service was seen to name them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from local_cloud.bounded import files
from local_cloud.bounded.errors import OverLimit
from local_cloud.engine.logs import job_files
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.pipelines import placeholders
from local_cloud.google.vertex.pipelines.lineage import Lineage
from local_cloud.google.vertex.pipelines.placeholders import path_of
from local_cloud.google.vertex.pipelines.spec import as_type, outputs_of, parse
from local_cloud.google.vertex.pipelines.task import Task
from local_cloud.http import bodies
from local_cloud.json_types import Json
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects

MACHINE = "e2-standard-4"  # of a task that asks for none: "Specify machine types for a pipeline"
MOST_BYTES = 8 << 20  # of a file with outputs
# Fields of a container that are accepted and have no effect on this machine.
IGNORED_IN = "a pipeline job"  # as the table of calls names it
IGNORED = {
    "pipelineSpec.deploymentSpec.executors[].container.resources": "a task uses this machine; only"
    " its accelerator has an effect",
    "pipelineSpec.…tasks[].retryPolicy.backoffDuration": "a task runs again at once",
    "encryptionSpec": "nothing is encrypted",
    "network": "tasks connect over loopback",
    "serviceAccount": "there are no accounts",
}


def folder(job: Json, task: Task) -> str:
    """Return the URI of the folder into which a task writes."""
    _, number, *_, job_id = job["name"].split("/")
    root = job["runtimeConfig"]["gcsOutputDirectory"].rstrip("/")
    return f"{root}/{number}/{job_id}/{task.name}_{task.id}"


def with_outputs(task: Task, component: Json, job: Json, *, lineage: Lineage) -> Task:
    """Record the artifacts that a task is to make, and return the task that knows them."""
    place = folder(job, task)
    made = {
        key: [lineage.artifact(key, definition["artifactType"], f"{place}/{key}", state="PENDING")]
        for key, definition in outputs_of(component, "artifacts").items()
    }
    return task.now("PENDING", output_artifacts=made)


def executor_input(task: Task, component: Json, job: Json, *, lineage: Lineage) -> Json:
    """Return what the task is told: its inputs, and where its outputs go."""
    place = path_of(folder(job, task))
    return {
        "inputs": {
            "parameterValues": dict(task.parameters),
            "artifacts": _artifacts(task.artifacts, lineage),
        },
        "outputs": {
            "parameters": {
                name: {"outputFile": f"{place}/{name}"}
                for name in outputs_of(component, "parameters")
            },
            "artifacts": _artifacts(task.output_artifacts, lineage),
            "outputFile": f"{place}/executor_output.json",
        },
    }


def _artifacts(names: Mapping[str, list[str]], lineage: Lineage) -> Json:
    return {
        key: {"artifacts": [_artifact(lineage.resource(name), name) for name in each]}
        for key, each in names.items()
    }


def _artifact(described: Json, name: str) -> Json:
    kind = {field: described.get(field, "") for field in ("schemaTitle", "schemaVersion")}
    metadata = described.get("metadata", {})
    return {"name": name, "type": kind, "uri": described.get("uri", ""), "metadata": metadata}


def own(task: Task, job: Json) -> dict[str, str]:
    """Return what a task may be told about itself and its pipeline."""
    return {
        "pipeline_job_name": job["name"].rpartition("/")[2],
        "pipeline_job_uuid": job["labels"][RUN_LABEL],
        "pipeline_job_resource_name": job["name"],
        "pipeline_job_create_time_utc": job["createTime"],
        "pipeline_task_name": task.name,
        "pipeline_task_uuid": str(task.id),
        "pipeline_root": job["runtimeConfig"]["gcsOutputDirectory"],
    }


RUN_LABEL = "vertex-ai-pipelines-run-billing-id"  # types/pipeline_job.py, labels


def custom_job(task: Task, container: Json, given: Json, *, job: Json) -> Json:
    """Return the custom job that runs a task."""
    told = own(task, job)
    spec: Json = {
        "imageUri": container["image"],
        "command": placeholders.resolve(container.get("command", []), given, told),
        "args": placeholders.resolve(container.get("args", []), given, told),
        "env": [
            {"name": each["name"], "value": placeholders.fill(each["value"], given, told)}
            for each in container.get("env", [])
        ],
    }
    labels = {RUN_LABEL: job["labels"][RUN_LABEL]}
    of_run = {"name": "VERTEX_AI_PIPELINES_RUN_LABELS", "value": json.dumps(labels)}
    spec["env"].append(of_run)
    machine = {"machineType": MACHINE, **_accelerator(container.get("resources", {}))}
    pool = {"machineSpec": machine, "replicaCount": 1, "containerSpec": spec}
    return {
        "displayName": f"{job['name'].rpartition('/')[2]}-{task.name}"[:128],
        "labels": labels,
        "jobSpec": {"workerPoolSpecs": [pool]},
    }


def _accelerator(resources: Json) -> Json:
    wanted = resources.get("accelerator", {})
    kind = wanted.get("resourceType") or wanted.get("type")
    count = wanted.get("resourceCount") or wanted.get("count")
    if not (kind and count):
        return {}
    return {"acceleratorType": str(kind).upper().replace("-", "_"), "acceleratorCount": int(count)}


# ---- afterwards -----------------------------------------------------------------------------
def results(
    task: Task, component: Json, job: Json, *, objects: Objects, hidden: bytes
) -> tuple[Json, Json]:
    """Return the output parameters of a task, and what it says of its artifacts, by output.

    hidden: a text that nobody is to read in them. ApiError: something that the task wrote cannot be
    read.
    """
    place = folder(job, task)
    said = _json(objects, f"{place}/executor_output.json", hidden)
    values: Json = {}
    for name, definition in outputs_of(component, "parameters").items():
        if name in said.get("parameterValues", {}):
            values[name] = as_type(said["parameterValues"][name], definition, f"output {name}")
        elif (text := _text(objects, f"{place}/{name}", hidden)) is not None:
            values[name] = parse(text, definition, f"output {name}")
    changes: Json = {}
    for name in outputs_of(component, "artifacts"):
        listed: list[Any] = said.get("artifacts", {}).get(name, {}).get("artifacts", [])
        reported = listed[0] if listed else {}
        changes[name] = {
            field: reported[field] for field in ("uri", "metadata") if reported.get(field)
        }
    return values, changes


def _json(objects: Objects, uri: str, hidden: bytes) -> Json:
    text = _text(objects, uri, hidden)
    try:
        content = bodies.parse((text or "{}").encode())
        if isinstance(content, dict):
            for part in ("parameterValues", "artifacts"):
                if not isinstance(content.get(part, {}), dict):
                    raise ValueError(part)
            return content
    except ValueError:
        pass
    raise ApiError("INVALID_ARGUMENT", f"{uri} is not the JSON of an executor's output")


def _text(objects: Objects, uri: str, hidden: bytes) -> str | None:
    """Return the text that a task has written to a URI; None if it has not."""
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    try:
        path = objects.get(bucket, name).path
    except StoreError:
        return None
    try:
        text = files.read(path, MOST_BYTES).decode(errors="replace")
        return job_files.mask(text, hidden)
    except OverLimit as problem:
        raise ApiError("INVALID_ARGUMENT", f"{uri} is {problem}") from None
