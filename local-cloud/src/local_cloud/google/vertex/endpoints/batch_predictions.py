"""Batch prediction: score whole files of a bucket with a model that is served for it alone.

Each job has a deployment of the engine, under its own id; its work begins when that is ready, and
from the start again after a restart of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from typing import Any

from google.cloud.aiplatform_v1.types import BatchPredictionJob

from local_cloud.disk_errors import say
from local_cloud.engine.serving.http_client import HttpRequest
from local_cloud.engine.serving.spec import Deployment, NoSuchDeployment, ServingState, Unanswered
from local_cloud.engine.spec import EngineError
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.endpoints import serving_launch
from local_cloud.google.vertex.endpoints.batch_files import (
    Instance,
    Output,
    chunks,
    count,
    sources,
    with_pictures,
)
from local_cloud.google.vertex.endpoints.endpoints import DIALECT, replicas
from local_cloud.google.vertex.models.registry import DEPLOYED, ModelRegistry
from local_cloud.google.vertex.resources import billing, documents, errors
from local_cloud.google.vertex.resources.documents import number_project
from local_cloud.google.vertex.resources.request import GS_URI
from local_cloud.google.vertex.resources.schema import (
    new_id,
    parse_message,
    require,
    timestamp,
    timestamp_after,
)
from local_cloud.http import bodies
from local_cloud.json_types import Json
from local_cloud.platform import Platform
from local_cloud.store.errors import StoreError
from local_cloud.store.records import NOT_WRITTEN

ENDED = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED")
BATCH = 64  # instances of a request: ManualBatchTuningParameters.batch_size
PICTURES = 8  # at a time: each is some hundred kilobytes
TOGETHER = 8  # requests that are under way at a time
NOTED = 1.0  # seconds between two times at which the progress is recorded
FORMATS = ("jsonl", "csv")


class BatchPredictions:
    """Batch prediction jobs."""

    def __init__(self, platform: Platform, models: ModelRegistry) -> None:
        """models: whose versions score."""
        self.records = platform.records
        self._objects = platform.gs
        self._serving = platform.serving
        self._base_of = platform.engine.base
        self._models = models
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by the job's id
        self._changed: dict[str, asyncio.Event] = {}  # by the job's name

    # ---- requests -------------------------------------------------------------------------------
    def create(self, parent: str, body: Json) -> Json:
        """Check and record a job, and start its replicas."""
        job = parse_message(BatchPredictionJob, body, "batch_prediction_job")
        require(job.get("displayName"), "batch_prediction_job.displayName: required")
        one = bool(job.get("model")) != ("unmanagedContainerModel" in job)
        require(one, "exactly one of model and unmanagedContainerModel must be set")
        if "unmanagedContainerModel" in job:
            raise ApiError(
                "UNIMPLEMENTED",
                "not implemented in the local cloud: batch predictions of an"
                " unmanagedContainerModel; upload the model first",
            )
        _check(job)
        model = self._models.find(number_project(job.get("model", "")))
        serving_launch.check(model, self._base_of)
        resources_wanted = job.get("dedicatedResources", {})
        wanted = {
            "machineSpec": resources_wanted.get("machineSpec", {"machineType": "n1-standard-4"}),
            "minReplicaCount": min(int(resources_wanted.get("startingReplicaCount", 1)), 16),
            "maxReplicaCount": min(int(resources_wanted.get("maxReplicaCount", 1)), 16),
        }
        chosen, now = new_id(), timestamp(time.time())
        name = f"{parent}/batchPredictionJobs/{chosen}"
        job |= {"name": name, "createTime": now, "updateTime": now, "state": "JOB_STATE_PENDING"}
        job |= {"model": model["name"], "modelVersionId": model["versionId"]}
        deployed = {"id": chosen, "model": model["name"], "dedicatedResources": wanted}
        facts = {"endpoint": name, "deployedModel": deployed, "model": model, "job": name}
        with self.records.transaction():
            self.records.put("vertex", name, job)
            self.records.put(DEPLOYED, chosen, facts)
            machine = billing.of_deployed("batch prediction", name, deployed)
            minimum, maximum = replicas(deployed)
            self._serving.deploy(
                DIALECT, name, chosen, minimum=minimum, maximum=maximum, rented=machine
            )
        return job

    def render(self, document: Json) -> Json:
        """Return the job as the service tells it."""
        return document

    async def wait_for_end(self, document: Json, seconds: float) -> None:
        """Wait until the job has ended, at most so long."""
        if document["state"] not in ENDED:
            event = self._changed.setdefault(document["name"], asyncio.Event())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)

    def cancel(self, document: Json) -> None:
        """End a job; nothing happens to one that has ended."""
        if document["state"] in ENDED:
            return
        if task := self._tasks.get(_id(document["name"])):
            task.cancel()
        error = {"code": errors.CANCELLED, "message": "CANCELED"}
        self._end(document["name"], {"state": "JOB_STATE_CANCELLED", "error": error})

    def delete(self, document: Json) -> None:
        """Delete a job that has ended."""
        name = document["name"]
        if document["state"] not in ENDED:
            raise ApiError("FAILED_PRECONDITION", f"{name} is still running; cancel it first.")
        self.records.delete("vertex", name)

    def start(self) -> None:
        """Do nothing: a job goes on when its replicas are ready again (settle)."""

    async def close(self) -> None:
        """Score no further; after the next start each job begins again."""
        running = [*self._tasks.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    # ---- the work -------------------------------------------------------------------------------
    def settle(self, deployment: Deployment, name: str) -> None:
        """React: the job's replicas are ready, or will never be."""
        job = self.records.get("vertex", name)
        if job is None or job["state"] in ENDED:
            self._release(deployment.id)
        elif deployment.state is ServingState.FAILED:
            self._fail(name, f"Model server exited unexpectedly. {deployment.message}")
        elif deployment.id not in self._tasks:
            task = asyncio.get_running_loop().create_task(self._run(name))
            self._tasks[deployment.id] = task
            task.add_done_callback(lambda _: self._tasks.pop(deployment.id, None))

    async def _run(self, name: str) -> None:
        try:
            await self._score(name)
        except (EngineError, StoreError, ValueError, *NOT_WRITTEN) as problem:
            self._fail(name, say(problem))
        except Exception as problem:  # a fault in this program: the job must not seem to run
            logging.getLogger(__name__).exception("batch prediction %s", name)
            self._fail(name, f"The local cloud made a mistake ({problem!r}); its log has more.")
            raise

    async def _score(self, name: str) -> None:
        job = self._put(name, {"state": "JOB_STATE_RUNNING", "startTime": timestamp(time.time())})
        given, wanted = job["inputConfig"], job["outputConfig"]
        files = await asyncio.to_thread(sources, self._objects, given["gcsSource"]["uris"])
        total = await asyncio.to_thread(count, files, given["instancesFormat"])
        facts = self.records.get(DEPLOYED, _id(name))
        assert facts
        folder = f"prediction-{facts['model']['displayName']}-{timestamp(time.time())}"
        uri = f"{wanted['gcsDestination']['outputUriPrefix'].rstrip('/')}/{folder}"
        size = int(job.get("manualBatchTuningParameters", {}).get("batchSize") or BATCH)
        is_of_pictures = facts["model"].get("automl", {}).get("kind") == "pictures"
        size = min(size, PICTURES) if is_of_pictures else size
        parts = chunks(files, given["instancesFormat"], job.get("instanceConfig", {}), size=size)
        if is_of_pictures:
            parts = with_pictures(parts, self._objects)
        sender = _Sender(self._serving, name, facts, parameters=job.get("modelParameters"))
        noted = time.monotonic()
        key_field = job.get("instanceConfig", {}).get("keyField", "")
        with Output(self._objects, uri, wanted["predictionsFormat"], key_field=key_field) as output:
            while part := await asyncio.to_thread(_several, parts):
                for scored in await asyncio.gather(*map(sender.score, part)):
                    output.write(scored)
                if time.monotonic() > noted + NOTED:
                    noted = time.monotonic()
                    self._put(name, {"completionStats": output.statistics(total)})
            await asyncio.to_thread(output.finish)
        self._end(
            name,
            {
                "state": "JOB_STATE_SUCCEEDED",
                "outputInfo": {"gcsOutputDirectory": uri},
                "completionStats": output.statistics(total),
            },
        )

    def _fail(self, name: str, message: str) -> None:
        error = {"code": errors.INVALID_ARGUMENT, "message": message}
        self._end(name, {"state": "JOB_STATE_FAILED", "error": error})

    def _end(self, name: str, changes: Json) -> None:
        job = documents.get(self.records, name)
        self._put(name, changes | {"endTime": timestamp_after(job)})
        self._release(_id(name))
        if event := self._changed.pop(name, None):
            event.set()

    def _release(self, deployment_id: str) -> None:
        """Release the replicas, which are not needed any more."""
        with self.records.transaction(), contextlib.suppress(NoSuchDeployment):
            self.records.delete(DEPLOYED, deployment_id)
            self._serving.remove(deployment_id)

    def _put(self, name: str, changes: Json) -> Json:
        job = documents.get(self.records, name)
        if job["state"] not in ENDED:
            job |= changes | {"updateTime": timestamp_after(job | changes)}
            self.records.put("vertex", name, job)
        return job


class _Sender:
    """Sends instances to the job's replicas."""

    def __init__(self, serving: Any, endpoint: str, facts: Json, *, parameters: Any) -> None:
        self._serving, self._endpoint = serving, endpoint
        self._deployed = facts["deployedModel"]["id"]
        self._route = serving_launch.routes(facts)[1]
        self._parameters = {} if parameters is None else {"parameters": parameters}

    async def score(self, instances: list[Instance]) -> list[tuple[Instance, Any, str]]:
        """Return each instance with its prediction, or with what the model said against it.

        Instances that are refused together are sent one by one, so that the good ones are scored.
        """
        good = [each for each in instances if not each.problem]
        predictions, problem = await self._predictions(good) if good else ([], "")
        if problem and len(instances) > 1:
            parts = [await self.score([each]) for each in instances]
            return [each for part in parts for each in part]
        answers = iter(predictions)
        return [
            (each, None, each.problem or problem)
            if each.problem or problem
            else (each, next(answers), "")
            for each in instances
        ]

    async def _predictions(self, instances: list[Instance]) -> tuple[list[Any], str]:
        body = json.dumps({"instances": [each.sent for each in instances], **self._parameters})
        headers = (("content-type", "application/json"),)
        request = HttpRequest("POST", self._route, body.encode(), headers)
        try:
            _, response = await self._serving.send(self._endpoint, request, self._deployed)
            text = response.body.decode(errors="replace")
            if response.status != 200:
                return [], text
            predictions = bodies.parse_strictly(text)["predictions"]
        except Unanswered as problem:
            return [], str(problem)
        except (ValueError, LookupError, TypeError):
            predictions = None
        if not isinstance(predictions, list) or len(predictions) != len(instances):
            return [], "The model did not answer with a prediction for each instance."
        return predictions, ""


def _several(parts: Any) -> list[list[Instance]]:
    """Return the next few chunks of instances."""
    return [part for _, part in zip(range(TOGETHER), parts, strict=False)]


def _check(job: Json) -> None:
    """Refuse a job that the service would, or that the local cloud cannot run."""
    given, wanted = job.get("inputConfig", {}), job.get("outputConfig", {})
    for where, config, source, kind in (
        ("inputConfig", given, "gcsSource", given.get("instancesFormat")),
        ("outputConfig", wanted, "gcsDestination", wanted.get("predictionsFormat")),
    ):
        if source not in config or kind not in FORMATS:
            raise ApiError(
                "UNIMPLEMENTED",
                f"not implemented in the local cloud: {where} other than {source} with"
                f" {' or '.join(FORMATS)}, {kind!r}",
            )
    for uri in [*given["gcsSource"].get("uris", []), wanted["gcsDestination"]["outputUriPrefix"]]:
        require(GS_URI.match(uri), f"{uri!r} does not begin with gs://BUCKET")
    _check_instances(job.get("instanceConfig", {}), given["instancesFormat"])
    explained = job.get("generateExplanation")
    require(
        explained or "explanationSpec" not in job,
        "explanationSpec: only if generateExplanation is true",
    )
    if explained:
        raise ApiError(
            "UNIMPLEMENTED", "not implemented in the local cloud: explanations of batch predictions"
        )


def _check_instances(config: Json, instances_format: str) -> None:
    """Refuse a combination of fields: InstanceConfig in types/batch_prediction_job.py."""
    both = config.get("includedFields") and config.get("excludedFields")
    require(not both, "instanceConfig: one of includedFields and excludedFields, not both")
    kind = config.get("instanceType", "object")
    require(kind in ("object", "array"), f"instanceConfig.instanceType: {kind!r} is no type")
    if instances_format == "csv":
        for field in ("includedFields", "excludedFields"):
            require(
                not config.get(field), f"instanceConfig.{field}: does not apply to csv instances"
            )


def _id(name: str) -> str:
    return name.rsplit("/", 1)[1]
