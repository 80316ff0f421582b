"""Pipeline jobs: runs of a compiled pipeline, each task of which is a custom job.

Sources: types/pipeline_job.py of the client library; kfp's pipeline_spec.proto.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import re
import time
from collections.abc import Mapping
from dataclasses import replace

from google.cloud.aiplatform_v1.types import PipelineJob

from local_cloud.billing import run_records
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.jobs.training import Training
from local_cloud.google.vertex.pipelines import spec as pipeline_spec
from local_cloud.google.vertex.pipelines.container import RUN_LABEL
from local_cloud.google.vertex.pipelines.lineage import Lineage
from local_cloud.google.vertex.pipelines.runner import PipelineRunner, new_task
from local_cloud.google.vertex.pipelines.spec import PipelineSpec, inputs_of
from local_cloud.google.vertex.pipelines.task import Task, TaskTable
from local_cloud.google.vertex.resources import billing, documents
from local_cloud.google.vertex.resources.errors import CANCELLED
from local_cloud.google.vertex.resources.limits import refuse_field
from local_cloud.google.vertex.resources.request import GS_URI
from local_cloud.google.vertex.resources.schema import (
    new_id,
    parse_message,
    require,
    timestamp,
    timestamp_after,
)
from local_cloud.google.vertex.tracking.metadata import Metadata
from local_cloud.json_types import Json

KIND = "vertex-pipeline"
JOB_ID = re.compile(r"[a-z][-a-z0-9]{0,127}")  # types/pipeline_service.py
ENDED = tuple(f"PIPELINE_STATE_{state}" for state in ("SUCCEEDED", "FAILED", "CANCELLED"))
FAILED_PRECONDITION = 9
METADATA = {  # of the operations: types/pipeline_service.py
    "BatchCancel": "BatchCancelPipelineJobsOperationMetadata",
    "BatchDelete": "DeleteOperationMetadata",
}
MOST_TOGETHER = 32  # BatchDeletePipelineJobsRequest in types/pipeline_service.py
OWN_FIELDS = ("jobDetail", "templateMetadata", "scheduleName")  # the service fills these in


class PipelineJobs:
    """What the service knows of its pipeline jobs, and those that run."""

    def __init__(self, training: Training, metadata: Metadata) -> None:
        """training: where the tasks are sent; metadata: where their lineage is kept."""
        self.records = training.records
        self._training, self._metadata = training, metadata
        self._runners: dict[str, PipelineRunner] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed: dict[str, asyncio.Event] = {}

    # ---- the server's -------------------------------------------------------------------------
    def start(self) -> None:
        """Go on with what an earlier server has left; the engine has started."""
        for name, job in self.records.list(KIND):
            with self.records.name_record_in_errors(KIND, name):
                ended = job["state"] in ENDED
            if not ended:
                self._run(job)

    async def close(self) -> None:
        """Run them no further; the next start goes on with what is under way."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    def count_running(self) -> int:
        """Return how many run."""
        return len(self._tasks)

    # ---- requests -------------------------------------------------------------------------------
    def check(self, parent: str, body: Json) -> tuple[Json, PipelineSpec, Task]:
        """Return a pipeline job as it is recorded, its definition and its first task; or refuse.

        Only this takes long for a large pipeline, and it may be called in a thread.
        """
        job = parse_message(PipelineJob, body, "pipeline_job")
        for field in OWN_FIELDS:
            job.pop(field, None)
        if "templateUri" in job and not job.get("pipelineSpec"):
            raise ApiError(
                "UNIMPLEMENTED",
                "not implemented in the local cloud: a template of Artifact Registry; send the"
                " compiled pipeline",
            )
        spec = pipeline_spec.check(job.get("pipelineSpec"))
        return job, spec, self._root(job, spec, f"{parent}/metadataStores/default")

    def create(self, parent: str, body: Json, chosen: str, *, schedule: str = "") -> Json:
        """Check, record and begin a pipeline job; returns it. schedule: whose run it is."""
        return self.submit(parent, self.check(parent, body), chosen, schedule=schedule)

    def submit(
        self,
        parent: str,
        checked: tuple[Json, PipelineSpec, Task],
        chosen: str,
        *,
        schedule: str = "",
    ) -> Json:
        """Record and begin a pipeline job as check() returned it; returns the resource."""
        job, spec, root = checked
        chosen = chosen or f"pipeline-{new_id()}"
        require(JOB_ID.fullmatch(chosen), f"pipelineJobId: {chosen!r} is not {JOB_ID.pattern}")
        job |= {"scheduleName": schedule} if schedule else {}
        now = timestamp(time.time())
        job |= {
            "name": f"{parent}/pipelineJobs/{chosen}",
            "state": "PIPELINE_STATE_RUNNING",
            "labels": job.get("labels", {}) | {RUN_LABEL: new_id()},
            **dict.fromkeys(("createTime", "startTime", "updateTime"), now),
        }
        job.setdefault("displayName", chosen)
        number = parent.split("/")[1]  # of the project: it names Compute Engine's own account
        job.setdefault("serviceAccount", f"{number}-compute@developer.gserviceaccount.com")
        with self.records.transaction():
            if self.records.get(KIND, job["name"]):
                raise ApiError("ALREADY_EXISTS", f"The PipelineJob {job['name']} exists.")
            lineage = Lineage(self._metadata, job, spec.name)
            lineage.begin()
            root = replace(root, name=chosen)
            root = replace(root, execution=lineage.execution(root))
            TaskTable(self.records, job["name"]).put(root.now("RUNNING", started=time.time()))
            self.records.put(KIND, job["name"], job)
            run_records.note(self.records, billing.run_of(job["name"]))
            self.records.when_written(lambda: self._run(job))
        return self.render(job)

    def _root(self, job: Json, spec: PipelineSpec, store: str) -> Task:
        """Return the task that is the pipeline itself, with its inputs."""
        config = job.get("runtimeConfig", {})
        root = config.get("gcsOutputDirectory", "")
        if not root:
            place = "pipeline_job.runtime_config.gcs_output_directory"
            raise refuse_field(place, "gcs_output_directory is empty.")
        require(
            GS_URI.match(root),
            f"runtimeConfig.gcsOutputDirectory: {root!r} does not begin with gs://BUCKET",
        )
        require("parameters" not in config, "runtimeConfig.parameters: use parameterValues")
        given = pipeline_spec.parameters(spec.root, config.get("parameterValues", {}))
        declared, artifacts = inputs_of(spec.root, "artifacts"), {}
        for name, artifact in config.get("inputArtifacts", {}).items():
            require(name in declared, f"inputArtifacts: the pipeline has no input {name!r}")
            full = f"{store}/artifacts/{artifact['artifactId']}"
            self._metadata.artifacts.get(full)
            artifacts[name] = [full]
        for name, definition in declared.items():
            there = name in artifacts or definition.get("isOptional")
            require(there, f"inputArtifacts.{name}: required")
        return new_task(
            "", spec.name, "dag", component="", parent=0, parameters=given, artifacts=artifacts
        )

    def get(self, name: str) -> Json:
        """Return the job of this name, or NOT_FOUND."""
        job = self.records.get(KIND, name)
        if job is None:
            raise ApiError("NOT_FOUND", f"The PipelineJob {name} does not exist.")
        return job

    def page(self, parent: str, query: dict[str, str]) -> Json:
        """Return one page of a location's jobs; "job_detail: not available in the list view"."""
        place = f"{parent}/pipelineJobs"
        jobs, token = documents.page(self.records, place, query=query, render=dict, kind=KIND)
        return {"pipelineJobs": jobs, "nextPageToken": token}

    def render(self, job: Json) -> Json:
        """Return the job with its tasks."""
        lineage = Lineage(self._metadata, job, PipelineSpec(job["pipelineSpec"]).name)
        tasks = TaskTable(self.records, job["name"]).all()
        details = [self._detail(task, lineage) for task in tasks]
        return job | {"jobDetail": lineage.contexts() | {"taskDetails": details}}

    async def wait_for_end(self, job: Json, seconds: float) -> None:
        """Wait until the job has ended, at most so long."""
        if job["state"] not in ENDED:
            event = self._changed.setdefault(job["name"], asyncio.Event())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)

    def cancel(self, job: Json) -> None:
        """Begin to stop it; nothing happens to one that has ended."""
        if job["state"] not in ENDED:
            self._put(job, {"state": "PIPELINE_STATE_CANCELLING"})
            self._runners[job["name"]].cancel()

    def delete(self, job: Json) -> None:
        """Delete one that has ended; its tasks' custom jobs and its lineage stay."""
        name = job["name"]
        if job["state"] not in ENDED:
            raise ApiError("FAILED_PRECONDITION", f"{name} is still running; cancel it first.")
        with self.records.transaction():
            TaskTable(self.records, name).delete()
            self.records.delete(KIND, name)

    def together(self, call: str, parent: str, names: list[str]) -> Json:
        """Cancel or delete several; all or none. call: BatchCancel or BatchDelete."""
        require(0 < len(names) <= MOST_TOGETHER, f"names: 1 to {MOST_TOGETHER} of them")
        jobs = [self.get(documents.number_project(name)) for name in names]
        with self.records.transaction():
            for job in jobs:
                (self.cancel if call == "BatchCancel" else self.delete)(job)
            kind = f"{call}PipelineJobsResponse"
            response = {"@type": f"{documents.TYPES}{kind}", "pipelineJobs": jobs}
            return documents.record_operation(
                self.records, parent, response, metadata=METADATA[call]
            )

    def _detail(self, task: Task, lineage: Lineage) -> Json:
        """Return a task, as types/pipeline_job.py has it."""
        described: Json = {
            "taskId": str(task.id),
            "taskName": task.name,
            "taskUniqueName": task.path,
            "state": task.state,
            "createTime": timestamp(task.created),
            "inputs": _artifacts(task.artifacts, lineage),
            "outputs": _artifacts(task.output_artifacts, lineage) if task.is_good else {},
            "pipelineTaskStatus": [
                {"updateTime": timestamp(at), "state": state} for at, state in task.history
            ],
        }
        for field, seconds in (("startTime", task.started), ("endTime", task.ended)):
            described |= {field: timestamp(seconds)} if seconds else {}
        if task.parent:
            described["parentTaskId"] = str(task.parent)
        if execution := lineage.resource(task.execution):
            described["execution"] = execution
        if task.error:
            described["error"] = _error(task)
        if task.jobs:
            *failed, main = (f"{lineage.parent}/customJobs/{job}" for job in task.jobs)
            detail = {"mainJob": main} | ({"failedMainJobs": failed} if failed else {})
            described["executorDetail"] = {"containerDetail": detail}
        return described

    # ---- the work -------------------------------------------------------------------------------
    def _run(self, job: Json) -> None:
        name = job["name"]
        runner = PipelineRunner(self._training, self._metadata, job)
        self._runners[name] = runner
        task = asyncio.get_running_loop().create_task(self._live(runner))
        self._tasks[name] = task
        task.add_done_callback(functools.partial(self._release, name))

    async def _live(self, runner: PipelineRunner) -> None:
        root = await runner.live()
        self._end(runner.job["name"], root.state, _error(root) if root.error else {})

    def _end(self, name: str, state: str, error: Json) -> None:
        job = self.get(name)
        changes: Json = {"state": f"PIPELINE_STATE_{state}", "endTime": timestamp_after(job)}
        self._put(job, changes | ({"error": error} if error else {}))
        if event := self._changed.pop(name, None):
            event.set()

    def _put(self, job: Json, changes: Json) -> None:
        updated = {"updateTime": timestamp(time.time())}
        self.records.put(KIND, job["name"], job | updated | changes)

    def _release(self, name: str, task: asyncio.Task[None]) -> None:
        """Forget a pipeline that is run no further: it has ended, or the server does."""
        self._tasks.pop(name)
        runner = self._runners.pop(name)
        if not task.cancelled() and (problem := task.exception()):
            # A fault in this program; the pipeline must not seem to run for ever.
            logging.getLogger(__name__).error("pipeline %s", name, exc_info=problem)
            runner.cancel()
            message = f"The local cloud made a mistake ({problem!r}); its log has more."
            self._end(name, "FAILED", {"code": FAILED_PRECONDITION, "message": message})


def _error(task: Task) -> Json:
    code = CANCELLED if task.state == "CANCELLED" else FAILED_PRECONDITION
    return {"code": code, "message": task.error}


def _artifacts(names: Mapping[str, list[str]], lineage: Lineage) -> Json:
    return {
        key: {"artifacts": [lineage.resource(name) for name in lineage.there(each)]}
        for key, each in names.items()
    }
