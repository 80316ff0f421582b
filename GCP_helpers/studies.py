"""Read a tuning job's trials from the SDK's own object, and follow them until it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from GCP_helpers import describe, waiting
from GCP_helpers.session import refusals
from lesson import target
from lesson.jobs import results, states, studies, tuning, watching
from lesson.jobs.spec import Times
from lesson.jobs.studies import Between, OneOf, Space, Study, Trial

if TYPE_CHECKING:
    from GCP_helpers.describe import Job, Tuning

# The service's words for a trial's states (study.Trial.State), in ours.
STATES = {
    "REQUESTED": states.QUEUED,
    "ACTIVE": states.RUNNING,
    "STOPPING": states.CANCELLING,
    "SUCCEEDED": states.SUCCEEDED,
    "INFEASIBLE": states.FAILED,
}
SCALES = {"UNIT_LOG_SCALE": "log", "UNIT_REVERSE_LOG_SCALE": "reverse log"}


def study_of(job: Tuning, request: Mapping[str, Any]) -> Study:
    """Return the study that a tuning job is, and its trials, as last seen."""
    seen, spec, now = job.gca_resource, describe.spec(job), describe.status(job)
    (metric,) = seen.study_spec.metrics
    space = {one.parameter_id: _dimension(one) for one in seen.study_spec.parameters}
    trials = tuple(_trial(trial, space, spec.base) for trial in seen.trials)
    hour = partial(waiting.estimate, spec)
    return Study(
        place=results.place(describe.SERVICE),
        metric=metric.metric_id,
        goal=metric.goal.name.lower(),
        trials=trials,
        planned=seen.max_trial_count,
        space=space,
        name=spec.name,
        state=now.state,
        service_state=now.word,
        seconds=now.times.seconds(),
        cost=watching.cost(hour, *(trial.seconds for trial in trials)),
        job=job,
        request=request,
    )


def follow(job: Tuning, request: Mapping[str, Any]) -> Study:
    """Show the trials until a tuning job ends; fetch the best trial's results."""

    def look() -> Study:
        describe.refresh(job)
        return study_of(job, request)

    name = describe.spec(job).name
    with refusals(f"watching {name}"):
        study = tuning.follow(look, watching.PAUSE[target()], trial_reason, name=name)
        if not study.trials_with_result:
            return study
        best = waiting.complete(waiting.run_of(trial_job(study.best.name), request))
        return replace(study, run=best)


def trial_job(name: str) -> Job:
    """Return the custom job that a trial is."""
    from google.cloud import aiplatform

    return cast("Job", aiplatform.CustomJob.get(name))


def trial_reason(trial: Trial) -> str:
    """Say why a trial has no result."""
    return trial.reason


def _trial(seen: Any, space: Space, base: str) -> Trial:
    """Return a trial: types/study.py. Its folders: types/custom_job.py, base_output_directory."""
    measured = seen.final_measurement.metrics
    when = Times(seen.start_time, seen.start_time, seen.end_time)
    return Trial(
        number=int(seen.id),
        name=seen.custom_job,
        state=STATES.get(seen.state.name, states.QUEUED),
        service_state=seen.state.name,
        values=studies.values(space, {one.parameter_id: one.value for one in seen.parameters}),
        result=measured[0].value if measured else None,
        seconds=when.machine_seconds(),
        reason=describe.in_short(seen.infeasible_reason),
        artefacts=f"{base}/{seen.id}/model/",
    )


def _dimension(spec: Any) -> Between | OneOf:
    """Return what a parameter may be, as it was asked for."""
    scale = SCALES.get(spec.scale_type.name, "linear")
    if "integer_value_spec" in spec:
        ends = spec.integer_value_spec
        return Between(int(ends.min_value), int(ends.max_value), scale)
    if "double_value_spec" in spec:
        ends = spec.double_value_spec
        return Between(float(ends.min_value), float(ends.max_value), scale)
    if "categorical_value_spec" in spec:
        return OneOf(tuple(spec.categorical_value_spec.values))
    numbers = [float(value) for value in spec.discrete_value_spec.values]
    whole = all(map(float.is_integer, numbers))
    return OneOf(tuple(map(int, numbers) if whole else numbers))
