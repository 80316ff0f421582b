"""A tuning job as it stands, read from the SDK's own object; and watched to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from GCP_helpers import looking, watching
from GCP_helpers.session import refusals
from lesson import states, studies, target, tuning
from lesson.jobs import Times
from lesson.runs import Run
from lesson.studies import Between, OneOf, Space, Study, Trial

if TYPE_CHECKING:
    from GCP_helpers.looking import Job, Tuning

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
    """The study as last seen."""
    seen, asked = job.gca_resource, looking.asked(job)
    (metric,) = seen.study_spec.metrics
    space = {one.parameter_id: _dimension(one) for one in seen.study_spec.parameters}
    trials = tuple(_trial(trial, space, asked.base) for trial in seen.trials)
    return Study(
        place=watching.PLACE[target()],
        metric=metric.metric_id,
        goal=metric.goal.name.lower(),
        trials=trials,
        seconds=looking.times(job).seconds(),
        cost=watching.cost_of(asked, sum(trial.seconds for trial in trials)),
        job=job,
        request=request,
        name=job.display_name,
        state=looking.state(job),
        service_state=looking.word(job),
        planned=seen.max_trial_count,
        space=space,
    )


def _trial(seen: Any, space: Space, base: str) -> Trial:
    """A trial: types/study.py. Its folders: types/custom_job.py, base_output_directory."""
    measured = seen.final_measurement.metrics
    when = Times(seen.start_time, seen.start_time, seen.end_time)
    return Trial(
        number=int(seen.id),
        name=seen.custom_job,
        state=STATES.get(seen.state.name, states.QUEUED),
        service_state=seen.state.name,
        values=studies.values(space, {one.parameter_id: one.value for one in seen.parameters}),
        result=measured[0].value if measured else None,
        seconds=when.running(),
        reason=looking.in_short(seen.infeasible_reason),
        artefacts=f"{base}/{seen.id}/model/",
    )


def _dimension(spec: Any) -> Between | OneOf:
    """What a parameter may be, as it was asked for."""
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


def follow(job: Tuning, request: Mapping[str, Any]) -> Study:
    """Show the trials until a tuning job ends; returns the study, with the best trial's results."""

    def look() -> Study:
        looking.refresh(job)
        return study_of(job, request)

    with refusals(f"watching {job.display_name}"):
        study = tuning.follow(
            look, watching.PAUSE[target()], lambda trial: trial.reason, job.display_name
        )
        return tuning.with_run(study, lambda name: _run(name, request))


def _run(name: str, request: Mapping[str, Any]) -> Run:
    """The run that a trial was, with its results on this machine."""
    from google.cloud import aiplatform

    job = cast("Job", aiplatform.CustomJob.get(name))
    return watching.complete(job, watching.run_of(job, request))
