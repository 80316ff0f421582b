"""Run one execution of a pipeline: steps begin as soon as what they wait for has succeeded.

Every step is on record before the next one begins, so an execution that the end of a server has
cut off is resumed by the next one, and no step that has succeeded runs again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
import time
from datetime import UTC, datetime
from typing import Any

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.sagemaker.pipelines import conditions
from local_cloud.amazon.sagemaker.pipelines import steps as pipeline_steps
from local_cloud.amazon.sagemaker.pipelines.definition import Definition, Step
from local_cloud.amazon.sagemaker.pipelines.steps import StepKinds
from local_cloud.amazon.sagemaker.pipelines.table import ENDED, PipelineTable
from local_cloud.amazon.sagemaker.pipelines.values import (
    Scope,
    ValueProblem,
    as_text,
    lookup,
    resolve,
)
from local_cloud.amazon.sagemaker.resources.names import arn, split_s3_uri
from local_cloud.bounded import files
from local_cloud.bounded.errors import OverLimit
from local_cloud.engine.jobs import job_table
from local_cloud.engine.logs import job_files
from local_cloud.json_types import Json
from local_cloud.pieces import Pieces
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects

LARGEST_FILE = 1 << 20  # bytes of a property file
STEPS_FAILED = "Step failure: One or multiple steps failed."  # the service's words


class PipelineRunner:
    """Run one execution to its end."""

    def __init__(
        self,
        table: PipelineTable,
        kinds: StepKinds,
        objects: Objects,
        *,
        execution: str,
        definition: Definition,
    ) -> None:
        """kinds: what steps call; objects: where property files are read."""
        self._table, self._kinds, self._objects = table, kinds, objects
        self._id = execution
        self._definition = definition
        self._execution = self._read_execution()
        self._woken = asyncio.Event()
        self._pieces = Pieces()

    def wake(self) -> None:
        """Look at the execution again: it is to be stopped, or more may run at a time."""
        self._woken.set()

    async def live(self) -> None:
        """Begin steps and note how they ended, until there is nothing more to do."""
        while self._execution["status"] not in ENDED:
            try:
                self._woken.clear()
                self._execution = self._read_execution()
                await self._settle()
                if self._execution["status"] == "Executing":
                    await self._begin_ready()
                if self._woken.is_set():
                    continue
                if not self._running_steps():
                    self._end()
                    return
                await self._news()
            except sqlite3.OperationalError as problem:  # the rest is done next time
                logging.getLogger(__name__).error("pipeline %s waits: %s", self._id, problem)
                await asyncio.sleep(job_table.RETRY)

    def _read_execution(self) -> Json:
        execution = self._table.get(self._id)
        assert execution
        return execution

    @property
    def _steps(self) -> dict[str, Json]:
        return self._table.steps(self._id)

    def _running_steps(self) -> list[Json]:
        return [step for step in self._steps.values() if step["status"] not in ENDED]

    # ---- how steps end --------------------------------------------------------------------------
    async def _settle(self) -> None:
        """Write down how the jobs of steps have ended; stop those that are to be stopped."""
        stopping = self._execution["status"] == "Stopping"
        for document in self._running_steps():
            await self._pieces.pause()
            step = self._definition.steps[document["name"]]
            if stopping:
                self._kinds.stop(step.kind, document["job"])
            standing = self._kinds.standing(step.kind, document["job"])
            if standing.status in ("InProgress", "Stopping"):
                if stopping:
                    self._put(step, status="Stopping")
            elif standing.status == "Completed":
                self._succeed(step, document, standing.properties)
            elif standing.lost and not stopping and document["attempt"] < step.attempts:
                self._begin(step, document["attempt"] + 1)
            elif stopping and standing.status == "Stopped":
                self._put(step, status="Stopped", end=time.time())
            else:
                reason = standing.reason or f"The job {document['job']} was stopped."
                self._put(step, status="Failed", end=time.time(), reason=reason)

    def _succeed(self, step: Step, document: Json, properties: Json) -> None:
        """Note that a step's job has succeeded: others may use its result."""
        with self._table.records.transaction():
            self._put(step, status="Succeeded", end=time.time(), properties=properties)
            if step.keeps is not None and document.get("key"):
                kept = {
                    "execution": self._execution["arn"],
                    "metadata": document["metadata"],
                    "properties": properties,
                }
                self._table.keep(
                    self._execution["pipeline"], step.name, document["key"], result=kept
                )

    def _put(self, step: Step, **changes: Any) -> Json:
        return self._table.put_step(self._id, step.name, **changes)

    def _end(self) -> None:
        """End the execution: nothing runs any more, and nothing is to begin."""
        failed = any(step["status"] == "Failed" for step in self._steps.values())
        if self._execution["status"] == "Stopping":
            self._note(status="Stopped")
        elif failed:
            told = self._execution.get("failure") or STEPS_FAILED
            self._note(status="Failed", failure=told)
        else:
            self._note(status="Succeeded")

    def _note(self, **changes: Any) -> None:
        """Record what has changed of the execution."""
        self._execution = self._table.put(self._id, **changes)

    # ---- how steps begin ------------------------------------------------------------------------
    async def _begin_ready(self) -> None:
        """Begin the steps whose turn it is; those that end at once have it be others' turn."""
        begun = self._steps
        waiting = [step for step in self._definition.steps.values() if step.name not in begun]
        while ready := [step for step in waiting if self._is_ready(step, begun)]:
            for step in ready:
                if not self._may_begin(begun):
                    return
                begun[step.name] = self._begin(step)
                await self._pieces.pause()
            waiting = [step for step in waiting if step.name not in begun]

    def _may_begin(self, begun: dict[str, Json]) -> bool:
        """Return whether another step may begin, if there is one whose turn it is."""
        if self._woken.is_set() or any(step["status"] == "Failed" for step in begun.values()):
            return False
        most = (self._execution.get("parallelism") or {}).get("MaxParallelExecutionSteps")
        return not most or sum(step["status"] not in ENDED for step in begun.values()) < most

    def _is_ready(self, step: Step, begun: dict[str, Json]) -> bool:
        """Return whether all that it waits for has succeeded, and its branch is taken."""
        waited = [begun.get(name, {}) for name in step.waits_for]
        if any(other.get("status") != "Succeeded" for other in waited):
            return False
        return step.branch is None or begun[step.branch[0]]["outcome"] == step.branch[1]

    def _begin(self, step: Step, attempt: int = 1) -> Json:
        """Begin a step; one that calls nothing, or whose call is refused, ends at once."""
        start = self._table.step(self._id, step.name).get("start", time.time())
        facts: Json = {"kind": step.kind, "attempt": attempt, "start": start} | step.display
        try:
            chosen = step.arguments.get(pipeline_steps.NAMES.get(step.kind, ""))
            chosen = resolve(chosen, self._scope(step, ""))
            most = pipeline_steps.longest_name(step.kind)
            name = pipeline_steps.job_name(
                chosen, self._id, step.name, attempt=attempt, longest=most
            )
            scope = self._scope(step, name)
            if step.kind == "Condition":
                facts |= self._decide(step, scope)
            elif step.kind == "Fail":
                facts |= self._fail(step, scope)
            else:
                facts |= self._call(step, name, resolve(step.arguments, scope))
        except ServiceError as problem:
            reason = pipeline_steps.reason_of_refusal(step.kind, problem)
            facts |= {"status": "Failed", "end": time.time(), "reason": reason}
        except ValueProblem as problem:
            facts |= {"status": "Failed", "end": time.time(), "reason": f"ClientError: {problem}"}
        return self._put(step, **facts)

    def _decide(self, step: Step, scope: Scope) -> Json:
        outcome = conditions.hold(step.arguments["Conditions"], scope)
        metadata = {"Condition": {"Outcome": str(outcome)}}
        ended = {"status": "Succeeded", "end": time.time(), "properties": {"Outcome": outcome}}
        return {"outcome": outcome, "metadata": metadata} | ended

    def _fail(self, step: Step, scope: Scope) -> Json:
        told = as_text(resolve(step.arguments.get("ErrorMessage", ""), scope))[:3072]
        self._note(failure=told[:1300] or STEPS_FAILED)
        metadata = {"Fail": {"ErrorMessage": told}}
        return {"status": "Failed", "end": time.time(), "reason": told[:1024], "metadata": metadata}

    def _call(self, step: Step, name: str, arguments: Json) -> Json:
        """Use an earlier result, or make the step's call."""
        execution = self._execution
        tags = [
            {"Key": "sagemaker:pipeline-execution-arn", "Value": execution["arn"]},
            {"Key": "sagemaker:pipeline-step-name", "Value": step.name},
        ]
        request = self._kinds.request(step.kind, arguments, name, tags=tags)
        key = pipeline_steps.cache_key(step.kind, request)
        if key and step.keeps is not None:
            known = self._table.find_cached(execution["pipeline"], step.name, key, keeps=step.keeps)
            if known:
                used = {field: known[field] for field in ("metadata", "properties")}
                hit = {"SourcePipelineExecutionArn": known["execution"]}
                return {"status": "Succeeded", "end": time.time(), "hit": hit} | used
        token = hashlib.sha256(name.encode()).hexdigest()[:36]
        metadata = self._kinds.begin(step.kind, request, token)
        if step.kind in pipeline_steps.SAME:
            return {"status": "Executing", "job": name, "metadata": metadata, "key": key}
        if step.kind == "RegisterModel":
            name = metadata["RegisterModel"]["Arn"]
        properties = self._kinds.describe(step.kind, name)
        ended = {"status": "Succeeded", "end": time.time()}
        return ended | {"metadata": metadata, "properties": properties}

    # ---- what references stand for --------------------------------------------------------------
    def _scope(self, step: Step, name: str) -> Scope:
        execution = self._execution
        variables = {
            "StartDateTime": _iso(execution["created"]),
            "CurrentDateTime": _iso(time.time()),
            "PipelineName": execution["pipeline"],
            "PipelineArn": arn(f"pipeline/{execution['pipeline']}"),
            "PipelineExecutionId": self._id,
            "PipelineExecutionArn": execution["arn"],
        }
        if step.kind in ("Training", "Processing"):
            variables[f"{step.kind}JobName"] = name
        return Scope(execution["parameters"], variables, self._properties, self._file, self._read)

    def _properties(self, step: str) -> Json:
        properties: Json = self._table.step(self._id, step).get("properties") or {}
        return properties

    def _file(self, step: str, name: str) -> str:
        """Return the text of a property file that a processing step has written."""
        declared = self._definition.steps[step].files.get(name)
        if declared is None:
            raise ValueProblem(f"step {step} declares no property file {name}")
        path = f".ProcessingOutputConfig.Outputs['{declared.get('OutputName')}'].S3Output.S3Uri"
        folder = lookup(self._properties(step), path, f"property file {name}")
        return self._read(f"{str(folder).rstrip('/')}/{declared.get('FilePath')}")

    def _read(self, uri: str) -> str:
        try:
            stored = self._objects.get(*split_s3_uri(uri))
            text = files.read(stored.path, LARGEST_FILE).decode()
        except (StoreError, ValueError, OSError, OverLimit) as problem:
            raise ValueProblem(f"{uri} cannot be read: {problem}") from None
        return job_files.mask(text, self._kinds.training.engine.hidden)

    # ---- waiting --------------------------------------------------------------------------------
    async def _news(self) -> None:
        """Wait until a step's job has got further, or somebody wakes this."""
        waits: list[asyncio.Task[Any]] = [asyncio.create_task(self._woken.wait())]
        for document in self._running_steps():
            end = self._kinds.wait_for_end(document["kind"], document["job"])
            waits.append(asyncio.create_task(end))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
