"""Training pipelines of AutoML: a job of the engine searches, and its result becomes a model.

What was trained is kept beside the buckets, in a folder that belongs to the model's version: on the
service, too, no bucket of the user has it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import local_cloud
from local_cloud import extras
from local_cloud.engine.logs import job_files
from local_cloud.engine.spec import EngineError, Job, JobContext, JobRefused, Plan, Replica, State
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.automl import evaluations
from local_cloud.google.vertex.automl import inputs as automl_inputs
from local_cloud.google.vertex.automl.inputs import PICTURES
from local_cloud.google.vertex.datasets import data_items
from local_cloud.google.vertex.datasets import datasets as managed
from local_cloud.google.vertex.datasets.datasets import Datasets
from local_cloud.google.vertex.models.registry import ModelRegistry
from local_cloud.google.vertex.resources import billing
from local_cloud.google.vertex.resources.schema import new_id, timestamp
from local_cloud.json_types import Json
from local_cloud.platform import Platform

ROOT = Path(local_cloud.__file__).parents[1]  # where a job finds the programs
REPLICA = "workerpool0-0"
MADE = "trained"  # the folder of the replica into which its program writes
LARGEST = 64 << 20  # bytes of a description that a training has written
PATHS = 10  # of the sampled Shapley values that explain a prediction
SCHEMAS = {automl_inputs.TABLES: managed.TABLES, PICTURES: managed.PICTURES}


class AutoMl:
    """What the service does for its pipelines that train without the user's code."""

    def __init__(self, platform: Platform, models: ModelRegistry, datasets: Datasets) -> None:
        """models: where results go; datasets: what is trained on."""
        self.records = platform.records
        self.engine = platform.engine
        self.models = models
        self.datasets = datasets
        self._folder = platform.gs.folder.parent / "automl-models"

    def create(self, parent: str, pipeline: Json, dialect: str) -> Json:
        """Check, record and queue a pipeline; returns its document."""
        config, inputs = pipeline.get("inputDataConfig", {}), pipeline.get("trainingTaskInputs")
        if not isinstance(inputs, dict):
            raise ApiError("INVALID_ARGUMENT", "trainingTaskInputs: an object is needed")
        if why := extras.explain_missing("automl"):
            message = f"not implemented in the local cloud: AutoML {why}"
            raise ApiError("UNIMPLEMENTED", message)
        dataset = self.datasets.get(f"{parent}/datasets/{config.get('datasetId', '')}")
        task = pipeline["trainingTaskDefinition"]
        if dataset["metadataSchemaUri"] != SCHEMAS[task]:
            message = f"{dataset['name']} is not a dataset of the kind that {task} trains on."
            raise ApiError("INVALID_ARGUMENT", message)
        words = automl_inputs.ARGUMENTS[task](inputs, config)
        model = pipeline.setdefault("modelToUpload", {"displayName": pipeline["displayName"]})
        self.models.check(
            parent,
            model,
            parent_model=pipeline.get("parentModel", ""),
            model_id=pipeline.get("modelId", ""),
        )
        chosen, now = new_id(), timestamp(time.time())
        name = f"{parent}/trainingPipelines/{chosen}"
        pipeline |= {"name": name, "createTime": now, "updateTime": now}
        document = pipeline | {"job": name, "automl": {"dataset": dataset["name"], "words": words}}
        with self.records.transaction():
            self.records.put("vertex", name, document)
            self.records.put("vertex-job", chosen, {"name": name})
            scale = 3600 / automl_inputs.SECONDS_PER_NODE_HOUR[task]
            node = billing.of_automl(name, is_image=task == PICTURES, scale=scale)
            self.engine.submit(dialect, chosen, 1, rented=node)
        return document

    # ---- what the engine asks -------------------------------------------------------------------
    def stage(self, document: Json, context: JobContext, base: dict[str, str]) -> Plan:
        """Say what the job of a pipeline runs."""
        task = document["trainingTaskDefinition"]
        try:
            program, data = self._data(document, context)
        except (ApiError, EngineError) as problem:
            raise JobRefused(str(problem)) from None
        command = [sys.executable, "-m", program, *document["automl"]["words"], *data]
        command += ["--output", str(_own(context.folder) / MADE)]
        # On small data several threads wait for each other more than they gain.
        threads = {"OMP_NUM_THREADS": "1"}
        environment = base | threads | {"PYTHONPATH": str(ROOT)}
        hour = f"{automl_inputs.SECONDS_PER_NODE_HOUR[task]:g} seconds"
        return Plan(
            (Replica(REPLICA, tuple(command), environment, reads=(self.datasets.objects.folder,)),),
            primary=0,
            notes=(f"local cloud: a node hour of the budget is {hour} here",),
        )

    def _data(self, document: Json, context: JobContext) -> tuple[str, list[str]]:
        """Return the program of a pipeline's task, and the arguments that name its data."""
        dataset = self.datasets.get(document["automl"]["dataset"])
        if document["trainingTaskDefinition"] == PICTURES:
            items = _own(context.folder) / "items.jsonl"
            self.datasets.items.write(dataset["name"], items)
            return "local_cloud.automl.train_images", ["--items", str(items)]
        files = [str(path) for path in self.datasets.tables(dataset, _own(context.folder))]
        return "local_cloud.automl.train_tables", ["--data", *files]

    def collect(self, document: Json, job: Job) -> None:
        """Add the model of a pipeline whose job has succeeded, with its evaluation."""
        if job.state != State.SUCCEEDED:
            return
        own, folder = self.engine.log(job.id, REPLICA).parent / REPLICA, self._folder / job.id
        folder.parent.mkdir(exist_ok=True)
        if job_files.is_folder(own, MADE):
            os.replace(own / MADE, folder)
        parent = document["name"].rsplit("/", 2)[0]
        wanted = document["modelToUpload"] | {"trainingPipeline": document["name"]}
        about = self._read(job, "model/model.json")
        wanted["automl"] = {"folder": str(folder), "kind": "tables"}
        if document["trainingTaskDefinition"] == PICTURES:
            dataset = document["automl"]["dataset"]
            ids = {name: data_items.spec_id(dataset, name) for name in about["classes"]}
            wanted["automl"] |= {"kind": "pictures", "ids": ids}
            wanted["supportedDeploymentResourcesTypes"] = ["AUTOMATIC_RESOURCES"]
        wanted["explanationSpec"] = _explanation(about)
        parent_model, model_id = document.get("parentModel", ""), document.get("modelId", "")
        with self.records.transaction():
            try:
                model = self.models.add(
                    parent, wanted, parent_model=parent_model, model_id=model_id
                )
            except ApiError as problem:  # the registry has changed since the pipeline was sent
                raise EngineError(str(problem)) from problem
            evaluations.add(self.records, model, self._read(job, "evaluation.json"))
            shown = {"name": model["name"], "versionId": model["versionId"]}
            document["modelToUpload"] |= shown
            self.records.put("vertex", document["name"], document)

    def _read(self, job: Job, name: str) -> Json:
        """Return what the training has written into a file of JSON."""
        below, hidden = f"{job.id}/{name}", self.engine.hidden
        text = job_files.read(self._folder, below, most=LARGEST, hidden=hidden)
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise EngineError(f"the training has left no {name} that can be read") from None
        return dict(content)


def render(document: Json, job: Job) -> Json:
    """Return a pipeline as the service tells it, without its state."""
    rendered = {key: value for key, value in document.items() if key not in ("job", "automl")}
    if job.ended and job.started:
        scale = automl_inputs.SECONDS_PER_NODE_HOUR[document["trainingTaskDefinition"]]
        hours = (job.ended - job.started) / scale
        rendered["trainingTaskMetadata"] = {"costMilliNodeHours": str(round(1000 * hours))}
    return rendered


def _own(folder: Path) -> Path:
    """Return the folder that the program of a job sees; folder: the job's."""
    own = folder / REPLICA
    own.mkdir(parents=True, exist_ok=True)
    return own


def _explanation(about: Json) -> Json:
    """Return Shapley values by sampling, from a row of medians and of the most frequent categories.

    Of a picture the regions of a grid are explained, from a black picture.
    """
    parameters: Json = {"sampledShapleyAttribution": {"pathCount": PATHS}}
    if "baseline" not in about:
        metadata = {"inputs": {"content": {"modality": "image"}}, "outputs": {"confidences": {}}}
        return {"parameters": parameters, "metadata": metadata}
    inputs: Json = {name: {"inputBaselines": [value]} for name, value in about["baseline"].items()}
    output: Any = {"scores": {"displayNameMappingKey": "classes"}}
    return {
        "parameters": parameters,
        "metadata": {"inputs": inputs, "outputs": output if about["classes"] else {"value": {}}},
    }
