"""The row of the run table that a job becomes: while it runs, and when it has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lesson import target
from lesson.jobs.code import digest
from lesson.jobs.runs import Run, read_metrics
from lesson.jobs.spec import JobSpec, JobStatus, Times
from lesson.jobs.states import CANCELLED
from lesson.jobs.watching import cost
from lesson.money.costs import Estimate

IGNORED = "ignored, not flags of this script: "  # so train_nn.py says of a mistyped flag


def place(service: str) -> str:
    """Return where a job of a service runs, as the run table shows it."""
    return f"{service} (local cloud)" if target() == "local" else service


def row(
    service: str, spec: JobSpec, job: Any, *, request: Mapping[str, Any], code: str = ""
) -> Run:
    """Return the row of a job that has not ended; `job` is the SDK's object."""
    return Run(
        place=place(service),
        machine=str(spec),
        seconds=None,
        score=None,
        loss=None,
        artefacts=spec.output,
        replicas=spec.replicas,
        job=job,
        request=request,
        code=code,
    )


def row_of_ended(
    run: Run,
    spec: JobSpec,
    now: JobStatus,
    *,
    machines: Times,
    estimate: Callable[[float], Estimate],
) -> Run:
    """Return the row of a job that has ended; `machines` says when its machines ran."""
    if now.state == CANCELLED:
        print(f"{spec.name} was cancelled ({now.word}); its results are not fetched")
    dollars = cost(estimate, machines.machine_seconds())
    return replace(run, seconds=machines.seconds(), queued=machines.queue_seconds(), cost=dollars)


def with_results(run: Run, name: str, when: Times, *, copy: Path) -> Run:
    """Return the row of a job that succeeded, with what the copy of its results says."""
    if not (copy / "metrics.json").exists():
        print(f"{name} left no metrics.json; what it left is in {copy}")
        return replace(run, copy=copy)
    metrics = read_metrics(copy)
    log = copy / "training.log"
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        if line.startswith(IGNORED):
            print(line)
    training = metrics["seconds"]["training"]
    return replace(
        run,
        starting=max(0.0, when.machine_seconds() - training),
        training=training,
        interruptions=max(run.interruptions, len(metrics.get("epochs", {}).get("resumed", ()))),
        copy=copy,
        **scored(metrics),
        digest=digest(copy),
    )


def scored(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return what metrics.json says of the model, as fields of a Run."""
    name = metrics.get("score", "accuracy")
    return {"score": metrics[name], "score_name": name, "loss": metrics["loss"]}
