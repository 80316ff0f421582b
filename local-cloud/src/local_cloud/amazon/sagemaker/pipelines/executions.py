"""Executions of pipelines: started, looked at, stopped; each is run by a PipelineRunner."""

from __future__ import annotations

import asyncio
import functools
import logging
import secrets
import string
import threading
import time

from local_cloud.amazon.account import CALLER
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.sagemaker.pipelines import definition as pipeline_definition
from local_cloud.amazon.sagemaker.pipelines import values as pipeline_values
from local_cloud.amazon.sagemaker.pipelines.definition import Definition
from local_cloud.amazon.sagemaker.pipelines.pipelines import Pipelines
from local_cloud.amazon.sagemaker.pipelines.runner import PipelineRunner
from local_cloud.amazon.sagemaker.pipelines.steps import StepKinds
from local_cloud.amazon.sagemaker.pipelines.table import ENDED, EXECUTION, PipelineTable
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.json_types import Json
from local_cloud.store.objects import Objects

ARN = "PipelineExecutionArn"
PLAIN = {
    "PipelineExecutionDisplayName": "display_name",
    "PipelineExecutionDescription": "description",
    "ParallelismConfiguration": "parallelism",
}
# What an execution would mean something else without: refused by name.
MISSING = (
    "SelectiveExecutionConfig",
    "MlflowExperimentName",
    "PipelineVersionId",
    "PipelineVersionAlias",
)
LETTERS = string.ascii_lowercase + string.digits


class PipelineExecutions:
    """All executions; each is run to its end, by a later server too."""

    def __init__(
        self, table: PipelineTable, pipelines: Pipelines, kinds: StepKinds, *, objects: Objects
    ) -> None:
        """kinds: what steps call; objects: where their files are."""
        self.table, self.pipelines = table, pipelines
        self._kinds, self._objects = kinds, objects
        self._runners: dict[str, PipelineRunner] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._starting = threading.Lock()

    # ---- requests -------------------------------------------------------------------------------
    def start_execution(self, request: Json) -> Json:
        """StartPipelineExecution: record and begin it; called in a thread."""
        for field in MISSING:
            if request.get(field):
                raise not_implemented(f"StartPipelineExecution {field}")
        with self._starting:  # so that one that is sent again finds the first
            pipeline = self.pipelines.get(request["PipelineName"])
            if known := self._find_same(request, pipeline):
                return {ARN: known["arn"]}
            return self._start(request, pipeline)

    def _find_same(self, request: Json, pipeline: Json) -> Json | None:
        """Return the execution that this request has started already."""
        name, token = pipeline["PipelineName"], request["ClientRequestToken"]
        return next(
            (one for one in self.table.all() if (one["pipeline"], one["token"]) == (name, token)),
            None,
        )

    def _start(self, request: Json, pipeline: Json) -> Json:
        """Record and begin an execution."""
        name, token = pipeline["PipelineName"], request["ClientRequestToken"]
        definition = pipeline_definition.parse(pipeline["PipelineDefinition"])
        values = pipeline_definition.values(definition, request.get("PipelineParameters") or [])
        execution = "".join(secrets.choice(LETTERS) for _ in range(12))
        now = time.time()
        given = {ours: request[field] for field, ours in PLAIN.items() if request.get(field)}
        made = f"{pipeline['PipelineArn']}/execution/{execution}"
        facts = {
            "id": execution,
            "arn": made,
            "pipeline": name,
            "definition": pipeline["PipelineDefinition"],
            "parameters": values,
            "display_name": f"execution-{int(now * 1000)}",
            "parallelism": pipeline.get("ParallelismConfiguration"),
            "status": "Executing",
            "created": now,
            "token": token,
        }
        with self.table.records.transaction():
            self.table.put(execution, **facts | given)
            self.pipelines.ran(name)
        self._loop.call_soon_threadsafe(self._run, execution, definition)
        return {ARN: made}

    def describe(self, params: Json) -> Json:
        """DescribePipelineExecution."""
        execution = self._get(params[ARN])
        shown = {
            "PipelineArn": execution["arn"].partition("/execution/")[0],
            ARN: execution["arn"],
            "PipelineExecutionStatus": execution["status"],
            "FailureReason": execution.get("failure") if execution["status"] == "Failed" else None,
            "CreationTime": execution["created"],
            "LastModifiedTime": execution["modified"],
            "CreatedBy": CALLER,
            "LastModifiedBy": CALLER,
            **{field: execution.get(ours) for field, ours in PLAIN.items()},
        }
        return {field: value for field, value in shown.items() if value}

    def list(self, params: Json) -> Json:
        """ListPipelineExecutions: the newest first, unless the request says otherwise."""
        name: str = self.pipelines.get(params["PipelineName"])["PipelineName"]
        since, before = params.get("CreatedAfter", 0.0), params.get("CreatedBefore", float("inf"))
        listed = [
            one | {"CreationTime": one["created"]}
            for one in self.table.all()
            if one["pipeline"] == name and since < one["created"] < before
        ]
        fields = {"CreationTime": "CreationTime", "PipelineExecutionArn": "arn"}
        listed = listing.sort(listed, params, fields, default="Descending")
        return listing.page([_summary(one) for one in listed], params, "PipelineExecutionSummaries")

    def stop(self, params: Json) -> Json:
        """StopPipelineExecution: stop the jobs of its steps, and begin no more."""
        execution = self._get(params[ARN])
        self._require_living(execution)
        self.table.put(execution["id"], status="Stopping")
        if runner := self._runners.get(execution["id"]):  # else it has not begun yet
            runner.wake()
        return {ARN: execution["arn"]}

    def update(self, params: Json) -> Json:
        """UpdatePipelineExecution: its names, and how many steps run at a time."""
        execution = self._get(params[ARN])
        if params.get("ParallelismConfiguration"):
            self._require_living(execution)
        changes = {ours: params[field] for field, ours in PLAIN.items() if field in params}
        self.table.put(execution["id"], **changes)
        if runner := self._runners.get(execution["id"]):
            runner.wake()
        return {ARN: execution["arn"]}

    def list_steps(self, params: Json) -> Json:
        """ListPipelineExecutionSteps: the latest first, unless the request says otherwise."""
        execution = self._get(params.get(ARN, ""))
        steps = list(self.table.steps(execution["id"]).values())
        # Several can begin in the same moment: then the order is the definition's.
        order = pipeline_definition.parse(execution["definition"]).steps
        places = {name: at for at, name in enumerate(order)}
        steps.sort(key=lambda step: (step["start"], places[step["name"]]))
        if params.get("SortOrder", "Descending") == "Descending":
            steps.reverse()
        shown = [_step(step) for step in steps]
        return listing.page(shown, {"MaxResults": 100} | params, "PipelineExecutionSteps")

    def definition(self, params: Json) -> Json:
        """DescribePipelineDefinitionForExecution: as it was when the execution began."""
        execution = self._get(params[ARN])
        return {"PipelineDefinition": execution["definition"], "CreationTime": execution["created"]}

    def parameters(self, params: Json) -> Json:
        """ListPipelineParametersForExecution: those with their default, too."""
        execution = self._get(params[ARN])
        shown = [
            {"Name": name, "Value": pipeline_values.as_text(value)}
            for name, value in execution["parameters"].items()
        ]
        return listing.page(shown, {"MaxResults": 100} | params, "PipelineParameters")

    def count_running(self) -> int:
        """Return how many run."""
        return len(self._tasks)

    def _get(self, execution_arn: str) -> Json:
        execution = self.table.get(execution_arn.rpartition("/")[2])
        if execution is None or execution["arn"] != execution_arn:
            raise ServiceError(
                "ResourceNotFound", f"Pipeline execution with ARN '{execution_arn}' does not exist."
            )
        return execution

    def _require_living(self, execution: Json) -> None:
        if execution["status"] in ENDED:
            raise ServiceError(
                "ConflictException",
                f"Pipeline execution {execution['arn']} is in status {execution['status']}: it has"
                " ended.",
            )

    # ---- the work -------------------------------------------------------------------------------
    def start(self) -> None:
        """Resume what an earlier server has left; the engine has started."""
        self._loop = asyncio.get_running_loop()
        for name, execution in self.table.records.list(EXECUTION):
            with self.table.records.name_record_in_errors(EXECUTION, name):
                ended = execution["status"] in ENDED
            if not ended:
                self._run(name, pipeline_definition.parse(execution["definition"]))

    async def close(self) -> None:
        """Run them no further; the next start resumes what is under way."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    def _run(self, execution: str, definition: Definition) -> None:
        runner = PipelineRunner(
            self.table, self._kinds, self._objects, execution=execution, definition=definition
        )
        self._runners[execution] = runner
        task = asyncio.get_running_loop().create_task(runner.live())
        self._tasks[execution] = task
        task.add_done_callback(functools.partial(self._release, execution))

    def _release(self, execution: str, task: asyncio.Task[None]) -> None:
        """Forget an execution that is run no further: it has ended, or the server does."""
        self._tasks.pop(execution)
        self._runners.pop(execution)
        if not task.cancelled() and (problem := task.exception()):
            # A fault in this program; neither execution nor steps must seem to run for ever.
            logging.getLogger(__name__).error("pipeline %s", execution, exc_info=problem)
            reason = f"A fault of the local cloud: {problem!r}"
            for name, step in self.table.steps(execution).items():
                if step["status"] not in ENDED:
                    self._kinds.stop(step["kind"], step["job"])
                    ended = {"status": "Failed", "end": time.time(), "reason": reason[:1024]}
                    self.table.put_step(execution, name, **ended)
            self.table.put(execution, status="Failed", failure=reason[:1300])


def _summary(one: Json) -> Json:
    shown = {
        ARN: one["arn"],
        "StartTime": one["created"],
        "PipelineExecutionStatus": one["status"],
        "PipelineExecutionDescription": one.get("description"),
        "PipelineExecutionDisplayName": one.get("display_name"),
        "PipelineExecutionFailureReason": one.get("failure") if one["status"] == "Failed" else None,
    }
    return {field: value for field, value in shown.items() if value}


def _step(step: Json) -> Json:
    shown = {
        "StepName": step["name"],
        "StepDisplayName": step.get("StepDisplayName"),
        "StepDescription": step.get("StepDescription"),
        "StartTime": step["start"],
        "EndTime": step.get("end"),
        "StepStatus": step["status"],
        "CacheHitResult": step.get("hit"),
        "FailureReason": step.get("reason"),
        "Metadata": step.get("metadata"),
        "AttemptCount": step["attempt"],
    }
    return {field: value for field, value in shown.items() if value}
