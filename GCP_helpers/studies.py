"""What a tuning job of Vertex AI searches, and its trials, from the SDK's own message."""

from __future__ import annotations

from typing import Any

from GCP_helpers.failures import in_short
from GCP_helpers.states import TRIALS
from lesson.jobs import studies
from lesson.jobs.cloud import Search
from lesson.jobs.spec import Times
from lesson.jobs.states import QUEUED
from lesson.jobs.studies import Between, OneOf, Space, Trial

SCALES = {"UNIT_LOG_SCALE": "log", "UNIT_REVERSE_LOG_SCALE": "reverse log"}


def search_of(seen: Any, base: str) -> Search:
    """Return what a HyperparameterTuningJob searches; `base` is the URI below which it writes."""
    (metric,) = seen.study_spec.metrics
    space = {one.parameter_id: _dimension(one) for one in seen.study_spec.parameters}
    return Search(
        metric=metric.metric_id,
        goal=metric.goal.name.lower(),
        planned=seen.max_trial_count,
        space=space,
        trials=tuple(_trial(trial, space, base) for trial in seen.trials),
    )


def _trial(seen: Any, space: Space, base: str) -> Trial:
    """Return a trial: types/study.py. Its folders: types/custom_job.py, base_output_directory."""
    measured = seen.final_measurement.metrics
    when = Times(seen.start_time, seen.start_time, seen.end_time)
    return Trial(
        number=int(seen.id),
        name=seen.custom_job,
        state=TRIALS.get(seen.state.name, QUEUED),
        service_state=seen.state.name,
        values=studies.values(space, {one.parameter_id: one.value for one in seen.parameters}),
        result=measured[0].value if measured else None,
        seconds=when.machine_seconds(),
        reason=in_short(seen.infeasible_reason),
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
