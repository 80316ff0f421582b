"""Run a pipeline: start each task as soon as those that it waits for have ended.

All that is known is on record: what a step needs is read there, and a step that the end of a server
has cut off is done by the next one. A task and its job are recorded together, or neither is.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from local_cloud.disk_errors import say
from local_cloud.engine.jobs import job_table
from local_cloud.engine.spec import Job, State
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.jobs.training import Training
from local_cloud.google.vertex.pipelines import cache, conditions, inputs, placeholders
from local_cloud.google.vertex.pipelines import container as pipeline_container
from local_cloud.google.vertex.pipelines.inputs import Unresolved
from local_cloud.google.vertex.pipelines.lineage import Lineage
from local_cloud.google.vertex.pipelines.spec import (
    MOST_TASKS,
    ONCE_ALL_ENDED,
    PipelineSpec,
    outputs_of,
    upstream,
)
from local_cloud.google.vertex.pipelines.task import Task, TaskTable, below
from local_cloud.google.vertex.tracking.metadata import Metadata
from local_cloud.json_types import Json
from local_cloud.pieces import Pieces

FAST = "PIPELINE_FAILURE_POLICY_FAIL_FAST"
LOST = 3  # so often a task runs again whose job the end of a server has cut off
TOGETHER = 20  # tasks that end in one transaction, which takes about a millisecond for each


def new_task(path: str, name: str, kind: str, *, component: str, parent: int, **more: Any) -> Task:
    """Make a task that has not begun."""
    chosen = secrets.randbelow(8 * 10**18) + 10**18  # an int64
    return Task(path, chosen, name, component, kind, "PENDING", time.time(), parent, **more)


class PipelineRunner:
    """Run one pipeline job to its end."""

    def __init__(self, training: Training, metadata: Metadata, job: Json) -> None:
        """training: where the tasks' custom jobs are sent."""
        self._training, self._engine = training, training.engine
        self._records = training.records
        self.job = job
        self.spec = PipelineSpec(job["pipelineSpec"])
        self.lineage = Lineage(metadata, job, self.spec.name)
        self.tasks = TaskTable(self._records, job["name"])
        self.cancelling = job["state"] == "PIPELINE_STATE_CANCELLING"
        self._pieces = Pieces()
        # How many more tasks may be made than those that the loops and pipelines that began make.
        begun = [task for task in self.tasks.all() if task.execution]
        self._room = MOST_TASKS - sum(map(self._count_inside, begun))
        self._news = asyncio.Event()
        self._watching: dict[str, asyncio.Task[None]] = {}  # engine jobs
        self._changed = False

    async def live(self) -> Task:
        """Go on until the pipeline itself has ended; returns that task."""
        try:
            while not (root := self._root()).is_over:
                try:
                    await self._go_on(root)
                except sqlite3.OperationalError as problem:  # the rest is done next time
                    logging.getLogger(__name__).error("%s waits: %s", self.job["name"], problem)
                    await asyncio.sleep(job_table.RETRY)
            return root
        finally:
            for task in self._watching.values():
                task.cancel()

    def cancel(self) -> None:
        """Have the tasks that run be stopped, and start no more."""
        self.cancelling = True
        self._news.set()

    async def _stop(self) -> None:
        """Stop the jobs of the tasks that run; those that wait all at once, for the disk's sake."""
        jobs = [task.jobs[-1] for task in self._running_tasks()]
        waiting = iter([job for job in jobs if self._engine.get(job).state is State.QUEUED])
        while several := list(islice(waiting, TOGETHER)):
            with self._records.transaction():
                for job in several:
                    self._engine.stop(job)
            await self._pieces.pause()
        for job in jobs:
            self._engine.stop(job)
            await self._pieces.pause()

    def _running_tasks(self) -> list[Task]:
        """Return the tasks with a job, which may have ended, that have not."""
        return [task for task in self.tasks.all() if task.jobs and not task.is_over]

    def _root(self) -> Task:
        root = self.tasks.get("")
        assert root
        return root

    async def _go_on(self, root: Task) -> None:
        """Do what there is to do, and if that is nothing wait for news."""
        self._changed = False
        self._news.clear()
        if self.cancelling:
            await self._stop()
            await self._put_all(
                task.now("CANCELLED", error="CANCELED")
                for task in self._running_tasks()
                if self._engine.get(task.jobs[-1]).state is State.STOPPED
            )
        for task in self._running_tasks():
            await self._judge(task)
            await self._pieces.pause()
        await self._visit(root)
        if not self._changed:
            self._watch()
            await self._news.wait()

    def _watch(self) -> None:
        """Have the end, or the start, of each task's job be news."""
        self._watching = {job: task for job, task in self._watching.items() if not task.done()}
        for task in self._running_tasks():
            if task.jobs[-1] not in self._watching:
                waiting = asyncio.create_task(self._change_of(task.jobs[-1], task.state))
                self._watching[task.jobs[-1]] = waiting

    async def _change_of(self, job_id: str, state: str) -> None:
        job = self._engine.get(job_id)
        while not job.state.ended and not (state == "PENDING" and job.started):
            job = await self._engine.wait_for_change(job, 3600)
        self._news.set()

    def _put(self, task: Task) -> None:
        """Record a task, with what its end means for the metadata store."""
        with self._records.transaction():
            if task.is_over and task.execution:
                self.lineage.end(task, self._root().execution)
                cache.note(task, self.lineage)
            self.tasks.put(task)
        self._changed = True

    async def _put_all(self, tasks: Iterator[Task]) -> None:
        """Record tasks, several at once: each waits for the disk otherwise."""
        while several := list(islice(tasks, TOGETHER)):
            with self._records.transaction():
                for task in several:
                    self._put(task)
            await self._pieces.pause()

    # ---- tasks that run -------------------------------------------------------------------------
    async def _judge(self, task: Task) -> None:
        """Write down what came of a task's job."""
        job = self._engine.get(task.jobs[-1])
        if not job.state.ended:
            if job.started and task.state == "PENDING":
                self._put(task.now("RUNNING", started=job.started))
            return
        if job.state is State.SUCCEEDED:
            await self._take_up(task)
        elif self._runs_again(task, job):
            self._send(task.now("PENDING"))
        elif job.state is State.STOPPED:
            self._put(task.now("CANCELLED", error="CANCELED"))
        else:
            assert job.outcome
            self._put(task.now("FAILED", error=self._training.message(job, job.outcome)))

    def _runs_again(self, task: Task, job: Job) -> bool:
        """Return whether the task's own policy has it run again, or the end of a server."""
        if self.cancelling or job.state is not State.FAILED or not job.outcome:
            return False
        if job.outcome.reason == "lost":
            return len(task.jobs) <= LOST
        most = self._task_spec(task).get("retryPolicy", {}).get("maxRetryCount", 0)
        return len(task.jobs) <= int(most)

    def _task_spec(self, task: Task) -> Json:
        """Return what the pipeline says of a task."""
        around, _, name = task.path.rpartition(".")
        scope = self.tasks.get(around)
        assert scope
        specified: Json = self.spec.component(scope.component)["dag"]["tasks"][name]
        return specified

    async def _take_up(self, task: Task) -> None:
        """Read what a task has written."""
        component = self.spec.component(task.component)
        try:
            values, changes = await asyncio.to_thread(
                pipeline_container.results,
                task,
                component,
                self.job,
                objects=self._training.objects,
                hidden=self._engine.hidden,
            )
        except (ApiError, OSError) as problem:
            self._put(task.now("FAILED", error=say(problem)))
            return
        with self._records.transaction():
            for key, names in task.output_artifacts.items():
                self.lineage.complete(names[0], changes[key])
            self._put(task.now("SUCCEEDED", output_parameters=values))

    # ---- pipelines and loops --------------------------------------------------------------------
    async def _visit(self, scope: Task) -> None:
        """Start what can start in a pipeline, or in one within it, and end it if all has ended."""
        component = self.spec.component(scope.component)
        if self.cancelling:
            await self._give_up(scope)
        for name, wanted in component["dag"]["tasks"].items():
            task = self.tasks.get(below(scope.path, name))
            if task is None and not self.cancelling:
                self._trigger(scope, name, wanted)
            elif task and not task.is_over and task.kind == "dag":
                await self._visit(task)
            elif task and not task.is_over and task.kind == "loop":
                await self._turn(task, wanted)
            await self._pieces.pause()
        inside = self._inside(scope)
        if len(inside) == len(component["dag"]["tasks"]):
            self._end(scope, list(inside.values()), inputs.outputs(component, inside))

    async def _give_up(self, scope: Task) -> None:
        """Note of all tasks of a pipeline that have not begun that they never will."""
        tasks = self.spec.component(scope.component)["dag"]["tasks"]
        await self._put_all(
            self._new(scope, name, wanted).now("NOT_TRIGGERED")
            for name, wanted in tasks.items()
            if self.tasks.get(below(scope.path, name)) is None
        )

    def _inside(self, scope: Task) -> dict[str, Task]:
        names = self.spec.component(scope.component)["dag"]["tasks"]
        tasks = {name: self.tasks.get(below(scope.path, name)) for name in names}
        return {name: task for name, task in tasks.items() if task}

    async def _turn(self, loop: Task, wanted: Json) -> None:
        """Start the rounds of a loop, as many side by side as it allows."""
        every = inputs.items(wanted, dict(loop.parameters))
        limit = int(wanted.get("iteratorPolicy", {}).get("parallelismLimit", 0)) or len(every)
        rounds = [self.tasks.get(below(loop.path, str(number))) for number in range(len(every))]
        running = 0
        for number, task in enumerate(rounds):
            if task and not task.is_over:
                running += 1
                await self._visit(task)
            elif task is None and running < limit and not self._is_halted():
                running += 1
                self._round(loop, wanted, number, item=every[number])
            await self._pieces.pause()
        there = [task for task in rounds if task]
        component = self.spec.component(loop.component)
        if len(there) == len(every):
            self._end(loop, there, inputs.collect(component, there))
        elif self._is_halted() and all(task.is_over for task in there):
            self._put(loop.now("CANCELLED", error="Not all rounds of the loop were started."))

    def _round(self, loop: Task, wanted: Json, number: int, *, item: Any) -> None:
        given = {**loop.parameters, wanted["parameterIterator"]["itemInput"]: item}
        more = {"parameters": given, "artifacts": loop.artifacts}
        path, name = below(loop.path, str(number)), f"{loop.name}-{number}"
        task = new_task(path, name, "dag", component=loop.component, parent=loop.id, **more)
        try:
            self._require_room(task)
        except Unresolved as problem:
            self._put(task.now("FAILED", error=str(problem)))
            return
        self._begin(task)

    def _end(self, task: Task, inside: list[Task], outputs: tuple[Json, Any]) -> None:
        """End a pipeline, or a loop, if all in it has ended."""
        if not all(one.is_over for one in inside):
            return
        bad = [one.name for one in inside if one.state in ("FAILED", "CANCELLED")]
        values, artifacts = outputs
        if self.cancelling:
            self._put(task.now("CANCELLED", error="CANCELED"))
        elif bad:
            names = ", ".join(bad)
            message = f"The DAG failed because some tasks failed. The failed tasks are: [{names}]."
            self._put(task.now("FAILED", error=message))
        else:
            made = {"output_parameters": values, "output_artifacts": artifacts}
            self._put(task.now("SUCCEEDED", **made))

    # ---- tasks that begin -----------------------------------------------------------------------
    def _is_halted(self) -> bool:
        """Return whether nothing more is to begin."""
        if self.cancelling:
            return True
        if self.job["runtimeConfig"].get("failurePolicy") != FAST:
            return False
        return any(task.state in ("FAILED", "CANCELLED") for task in self.tasks.all())

    def _new(self, scope: Task, name: str, wanted: Json) -> Task:
        """Return a task of a pipeline that has not begun."""
        reference = wanted["componentRef"]["name"]
        component = self.spec.component(reference)
        kind = "loop" if "parameterIterator" in wanted else "dag"
        if "dag" not in component:
            kind = "container" if "container" in self.spec.executor(component) else "importer"
        return new_task(below(scope.path, name), name, kind, component=reference, parent=scope.id)

    def _require_room(self, task: Task) -> None:
        """Refuse a loop or a pipeline that would make too many tasks with all the others."""
        if self._count_inside(task) > self._room:
            raise Unresolved(
                f"the pipeline would make more than {MOST_TASKS} tasks, the most that a pipeline"
                " job here has: split it"
            )

    def _count_inside(self, task: Task) -> int:
        """Return how many tasks a loop or a pipeline makes itself; a loop: its rounds."""
        if task.kind == "loop":
            return len(inputs.items(self._task_spec(task), dict(task.parameters)))
        return len(self.spec.component(task.component)["dag"]["tasks"]) if task.kind == "dag" else 0

    def _trigger(self, scope: Task, name: str, wanted: Json) -> None:
        """Begin a task whose turn it is, or note that it never will."""
        beside = {
            other: task
            for other in upstream(wanted)
            if (task := self.tasks.get(below(scope.path, other)))
        }
        if len(beside) < len(upstream(wanted)) or not all(one.is_over for one in beside.values()):
            return
        task = self._new(scope, name, wanted)
        component = self.spec.component(task.component)
        policy = wanted.get("triggerPolicy", {})
        always = policy.get("strategy") == ONCE_ALL_ENDED
        good = all(one.is_good for one in beside.values())
        if not (always or (good and not self._is_halted())):
            self._put(task.now("NOT_TRIGGERED"))
            return
        try:
            status = {other: self._status(one) for other, one in beside.items()}
            own = pipeline_container.own(task, self.job)
            given = inputs.parameters(
                wanted, component, scope, beside=beside, status=status, own=own
            )
            holds = conditions.compile_condition(policy.get("condition", "true"))
            task = replace(task, parameters=given)
            if not holds(inputs.render_for_cache(given, component)):
                self._put(task.now("NOT_TRIGGERED"))
                return
            task = replace(
                task, artifacts=inputs.artifacts(wanted, component, scope, beside=beside)
            )
            self._require_room(task)
        except (Unresolved, conditions.InvalidCondition) as problem:
            self._put(task.now("FAILED", error=str(problem)))
            return
        try:
            self._begin(task, wanted)
        except ApiError as problem:  # nothing of it is on record
            self._put(task.now("FAILED", error=str(problem)))

    def _status(self, task: Task) -> Json:
        """Return what a task at the exit is told about one that it waits for."""
        status = {
            "state": task.state,
            "pipelineJobResourceName": self.job["name"],
            "pipelineTaskName": task.name,
        }
        return status | ({"error": {"code": 9, "message": task.error}} if task.error else {})

    def _begin(self, task: Task, wanted: Json | None = None) -> None:
        """Begin a task whose inputs are there."""
        with self._records.transaction():
            task = replace(task, execution=self.lineage.execution(task))
            if task.kind == "container":
                self._begin_container(task, wanted or {})
            elif task.kind == "importer":
                self._import(task)
            else:
                self._put(task.now("RUNNING", started=time.time()))
        self._room -= self._count_inside(task)

    def _begin_container(self, task: Task, wanted: Json) -> None:
        key = cache.fingerprint(task, wanted, self.spec)
        task = replace(task, fingerprint=key)
        if earlier := cache.find(self._records, self.lineage, key):
            made = {
                "output_parameters": earlier["parameters"],
                "output_artifacts": earlier["artifacts"],
            }
            self._put(task.now("SKIPPED", started=time.time(), **made))
            return
        component = self.spec.component(task.component)
        self._send(pipeline_container.with_outputs(task, component, self.job, lineage=self.lineage))

    def _send(self, task: Task) -> None:
        """Queue the custom job of a task."""
        component = self.spec.component(task.component)
        container = self.spec.executor(component)["container"]
        with self._records.transaction():
            given = pipeline_container.executor_input(
                task, component, self.job, lineage=self.lineage
            )
            resource = pipeline_container.custom_job(task, container, given, job=self.job)
            parent = self.job["name"].rsplit("/", 2)[0]
            job = self._training.send(parent, resource, pipelineJob=self.job["name"])
            self._put(replace(task, jobs=(*task.jobs, job), started=None))

    def _import(self, task: Task) -> None:
        """Have an artifact that there is already, or record one for what is at a URI."""
        component = self.spec.component(task.component)
        wanted = self.spec.executor(component)["importer"]
        source = wanted["artifactUri"]
        uri = source.get("constant", task.parameters.get(source.get("runtimeParameter", "")))
        uri = str(task.parameters.get("uri", uri))
        kind = wanted.get("typeSchema", {})
        name = "" if wanted.get("reimport") else self.lineage.find_imported(kind, uri)
        (key,) = outputs_of(component, "artifacts")
        own = pipeline_container.own(task, self.job)
        metadata = placeholders.constant(wanted.get("metadata"), dict(task.parameters), own)
        name = name or self.lineage.artifact(key, kind, uri, state="LIVE", metadata=metadata)
        self._put(task.now("SUCCEEDED", started=time.time(), output_artifacts={key: [name]}))
