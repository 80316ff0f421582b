"""The rows of the list of jobs: a study's trials and a pipeline's tasks are parts of its row."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from local_cloud.billing.ledger import price_rental
from local_cloud.console.records import jobs, pipeline_runs, resources, results, studies
from local_cloud.console.site import words
from local_cloud.engine.jobs.rental_records import of_job
from local_cloud.engine.spec import EngineError, Job
from local_cloud.platform import Platform

TRIAL, TASK = "tuning trial", "pipeline task"


@dataclass(frozen=True)
class Row:
    """A job, or a study or a pipeline with its jobs; times are seconds since the epoch."""

    title: str
    page: str  # relative to the console's root; "": it was deleted
    state: str  # in one word
    chip: str  # the class by which it is drawn
    cloud: str  # the dialect's name
    created: float
    seconds: float | None = None
    accuracy: float | None = None
    loss: float | None = None
    machine: str = ""
    cost: float | None = None  # dollars; None: no price is known
    job: str = ""  # the job's id, if it is one
    parts: Sequence[Row] = ()
    noun: str = ""  # what its parts are


@dataclass(frozen=True)
class Group:
    """Jobs that share a row."""

    owner: str  # the study's or the pipeline's name; "": a job alone
    kind: str
    jobs: Sequence[Job]  # the newest first


def group(platform: Platform, listed: Iterable[Job]) -> list[Group]:
    """Return the jobs in the order in which they come, those of a study or pipeline together."""
    tasks = _tasks_of_sagemaker(platform)
    groups: dict[tuple[str, str], list[Job]] = {}
    for job in listed:
        rented = job.rented
        if rented and rented.owner and rented.kind in (TRIAL, TASK):
            key = (rented.owner, rented.kind)
        elif job.id in tasks:
            key = (tasks[job.id], TASK)
        else:
            key = ("", job.id)
        groups.setdefault(key, []).append(job)
    return [Group(owner, kind, together) for (owner, kind), together in groups.items()]


def _tasks_of_sagemaker(platform: Platform) -> dict[str, str]:
    """Return the ARN of the execution to which a job belongs as a step, by the job's id."""
    records, executions = platform.records, {}
    for name, step in records.list("pipeline-step"):
        execution = records.get("pipeline-execution", name.partition("/")[0])
        if execution and step.get("job"):
            for kind in jobs.AMAZON.values():
                executions[f"{kind.prefix}{step['job']}"] = str(execution["arn"])
    return executions


def pipeline_of(platform: Platform, job: Job) -> tuple[str, str] | None:
    """Return title and page of the pipeline run whose task a job is; None if it is none's."""
    (alone,) = group(platform, [job])
    runs = pipeline_runs.every(platform.records) if alone.kind == TASK else ()
    run = next((each for each in runs if each.name == alone.owner), None)
    return (run.title, pipeline_runs.link(run.name)) if run else None


def of_group(platform: Platform, group: Group) -> Row:
    """Return the row of some jobs."""
    parts = [of(platform, jobs.describe(platform, job)) for job in group.jobs]
    if not group.owner:
        return parts[0]
    parts.reverse()  # as they were sent
    if group.kind == TRIAL:
        return _of_study(platform, group.owner, parts)
    return _of_pipeline(platform, group.owner, parts)


def of(platform: Platform, shown: jobs.Shown) -> Row:
    """Return the row of one job."""
    job = shown.job
    result = results.of_job(platform, job.id)
    return Row(
        shown.title,
        f"jobs/{quote(job.id)}",
        words.state_word(job.state),
        words.state_class(job.state),
        job.dialect,
        job.created,
        shown.seconds,
        result.accuracy,
        result.loss,
        machines(job),
        cost(job),
        job=job.id,
    )


def cost(job: Job) -> float | None:
    """Return the dollars that a job has cost so far at list price; None if no price is known."""
    priced = [row.dollars for row in price_rental(of_job(job), time.time())]
    return None if None in priced else sum(filter(None, priced))


def machines(job: Job) -> str:
    """Return a job's machines in a few words: "2 × n1-standard-4 + T4"; "" if none is known."""
    counts: Counter[str] = Counter()
    for each in job.rented.machines if job.rented else ():
        gpu = each.gpu.removeprefix("NVIDIA_").removeprefix("TESLA_").replace("_", " ")
        many = f"{each.gpu_count} × " if each.gpu_count > 1 else ""
        counts[f"{each.type or 'unknown'}" + (f" + {many}{gpu}" if gpu else "")] += each.count
    return ", ".join(f"{n} × {name}" if n > 1 else name for name, n in counts.items())


def _of_study(platform: Platform, name: str, parts: Sequence[Row]) -> Row:
    try:
        study = platform.studies.get(name)
    except EngineError:
        return _together(parts, title=f"deleted study {words.short(name)}", noun="trial")
    metric = studies.metric(platform.records, study).lower()
    results = {trial.job: trial.result for trial in study.trials}
    parts = [_with_result(part, metric, results.get(part.job)) for part in parts]
    best = next((part for part in parts if study.best and part.job == study.best.job), None)
    return _together(
        parts,
        title=studies.title(platform.records, study),
        noun="trial",
        page=f"study?name={quote(study.id, safe='')}",
        state=words.state_word(study.state),
        chip=words.state_class(study.state),
        accuracy=best and best.accuracy,
        loss=best and best.loss,
    )


def _with_result(part: Row, metric: str, result: float | None) -> Row:
    """Add what a trial has reported to its study, if its log does not say it."""
    if "acc" in metric and part.accuracy is None:
        return replace(part, accuracy=result)
    return replace(part, loss=result) if "loss" in metric and part.loss is None else part


def _of_pipeline(platform: Platform, name: str, parts: Sequence[Row]) -> Row:
    runs = pipeline_runs.every(platform.records)
    run = next((each for each in runs if each.name == name), None)
    if run is None:
        return _together(parts, title=f"deleted pipeline {words.short(name)}", noun="task")
    state = resources.state(run.word)
    last = next((part for part in reversed(parts) if part.accuracy is not None), None)
    return _together(
        parts,
        title=run.title,
        noun="task",
        page=pipeline_runs.link(name),
        state=state.text,
        chip=state.chip,
        accuracy=last and last.accuracy,
        loss=last and last.loss,
    )


def _together(parts: Sequence[Row], *, title: str, noun: str, **facts: Any) -> Row:
    """Return a row with the sums of its parts; without a state of its own it has the last one's."""
    costs = [part.cost for part in parts]
    ends = [part.created + (part.seconds or 0.0) for part in parts]
    begun = min(part.created for part in parts)
    types = list(dict.fromkeys(part.machine for part in parts))
    row = Row(
        title,
        page="",
        state=parts[-1].state,
        chip=parts[-1].chip,
        cloud=parts[-1].cloud,
        created=begun,
        seconds=max(ends) - begun,
        machine=types[0] if len(types) == 1 else f"{len(types)} types",
        cost=None if None in costs else sum(filter(None, costs)),
        parts=parts,
        noun=noun,
    )
    return replace(row, **facts)


# By what the list can be sorted, and whether the largest comes first at first.
KEYS: dict[str, tuple[Callable[[Row], Any], bool]] = {
    "name": (lambda row: row.title.lower(), False),
    "state": (lambda row: row.state, False),
    "accuracy": (lambda row: row.accuracy, True),
    "loss": (lambda row: row.loss, False),
    "cost": (lambda row: row.cost, True),
    "ran": (lambda row: row.seconds, True),
    "machine": (lambda row: row.machine or None, False),
    "sent": (lambda row: row.created, True),
}


def sort(rows: Iterable[Row], by: str, *, descending: bool) -> list[Row]:
    """Return the rows in this order; those without a value come last in both directions."""
    key = KEYS[by][0]
    with_value: list[Row] = []
    without: list[Row] = []
    for row in rows:
        (without if key(row) is None else with_value).append(row)
    return [*sorted(with_value, key=key, reverse=descending), *without]
