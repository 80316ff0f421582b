"""Hyperparameter tuning on Vertex AI: a search for good settings, each trial a job of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from GCP_helpers import images
from GCP_helpers.jobs import FOLDER, machines, price, scheduling
from GCP_helpers.session import connected, refusals
from GCP_helpers.trials import follow, study_of
from lesson import jobs, tuning
from lesson.studies import Between, OneOf, Space, Study
from lesson.this_machine import flags

if TYPE_CHECKING:
    from google.cloud import aiplatform

# The SDK's names. Without one it is Bayesian optimisation.
ALGORITHMS = {"bayesian": None, "random": "random", "grid": "grid"}


def tune(
    args: Mapping[str, Any],
    space: Space,
    metric: str = "validation_loss",
    trials: int = 12,
    parallel: int = 2,
    machine: str = "n1-standard-4",
    replicas: int = 1,
    gpu: str | None = None,
    spot: bool = False,
    wait: bool = True,
    *,
    algorithm: str = "bayesian",
    goal: str | None = None,
    early_stopping: bool = False,
    gpu_count: int = 1,
    container_uri: str | None = None,
) -> Study:
    """Let Vertex AI search `space` for the best flags of train_nn.py, and wait for the end.

    `args` are flags as for train(), the same in every trial; `space` maps other flags to what may
    be tried: between(0.0001, 0.1, scale="log"), one_of("16", "64,32"). Each of the `trials` is a
    job with a folder of its own, `parallel` of them at a time, on machines as for train(). `metric`
    is a tag that the script reports; the least of a loss is looked for, the most of anything else,
    unless `goal` says minimize or maximize. `algorithm` is bayesian, random or grid. With
    `early_stopping` a trial ends whose best so far is worse than the median of the others.

    With wait=False this returns at once, and wait(study) later. Raises LessonError for what cannot
    be sent, and NoResult, which is one, for a study none of whose trials came to a result.
    """
    from google.cloud import aiplatform

    session = connected()
    jobs.check_readable(args, "gs://", "/gcs/")
    tuning.check(space, args, trials=trials, parallel=parallel)
    tuning.check_algorithm(algorithm, [*ALGORITHMS], space, "Vertex AI")
    goal = tuning.goal_of(metric, goal)
    tuning.state_cost(
        "Vertex AI", lambda: price(machine, gpu, replicas, gpu_count), trials, parallel, spot
    )
    jobs.warn_of_stops(args, spot)
    image = container_uri or images.image_for(gpu)
    images.warn(image)
    name = f"tune-nn-{datetime.now():%Y%m%d-%H%M%S-%f}"
    each: dict[str, Any] = {
        "display_name": name,
        "script_path": os.path.relpath(FOLDER),
        "container_uri": image,
        "base_output_dir": f"{session.address}/runs/{name}",  # below it each trial has a folder
        **machines(machine, replicas, gpu, gpu_count),
    }
    search: dict[str, Any] = {
        "display_name": name,
        "metric_spec": {metric: goal},
        "parameter_spec": {flag: _parameter(what) for flag, what in space.items()},
        "max_trial_count": trials,
        "parallel_trial_count": parallel,
        "search_algorithm": ALGORITHMS[algorithm],
        "measurement_selection": "last",  # train_nn.py reports last what the written model has
        "labels": session.labels,
    }
    when = {"timeout": tuning.LIMIT * 3600, **scheduling(spot)}
    with jobs.sending(), refusals("sending the tuning job"):
        custom_job = _custom_job(each, flags(args))
        job = aiplatform.HyperparameterTuningJob(custom_job=custom_job, **search)
        if early_stopping:
            _stop_early(job)
        _submit(job, **when)
    request = {
        "CustomJob.from_local_script": each | {"args": flags(args)},
        "HyperparameterTuningJob": search,
        "run": when,
    }
    return follow(job, request) if wait else study_of(job, request)


def _parameter(what: Between | OneOf) -> Any:
    """A dimension of the space, as an object of the SDK."""
    from google.cloud.aiplatform import hyperparameter_tuning as hpt

    if isinstance(what, OneOf):
        values: Any = list(what.values)
        if what.numbers:
            return hpt.DiscreteParameterSpec(values=values, scale="linear")
        return hpt.CategoricalParameterSpec(values=values)
    kind: Any = hpt.IntegerParameterSpec if what.whole else hpt.DoubleParameterSpec
    return kind(min=what.low, max=what.high, scale=what.scale.replace(" ", "_"))


def _custom_job(each: Mapping[str, Any], args: list[str]) -> aiplatform.CustomJob:
    """The job that every trial is, of which the service makes a copy with more flags.

    Google's images run a package, with flags. For any other image the SDK writes a command for a
    shell, with the flags inside; those that a trial adds come after it, and the shell would keep
    them for itself: so here it hands all of them on.
    """
    from google.cloud import aiplatform

    if images.is_prebuilt(each["container_uri"]):
        return aiplatform.CustomJob.from_local_script(**each, args=args)
    job = aiplatform.CustomJob.from_local_script(**each)
    for pool in filter(None, job.job_spec.worker_pool_specs):
        shell, option, command = pool.container_spec.command
        pool.container_spec.command = [shell, option, f'{command} "$@"', shell]
        pool.container_spec.args = args
    return job


def _stop_early(job: aiplatform.HyperparameterTuningJob) -> None:
    """Let the service end trials that do worse than the median; the SDK has no word for it."""
    from google.cloud.aiplatform_v1.types import StudySpec

    rule = StudySpec.MedianAutomatedStoppingSpec(use_elapsed_duration=False)
    job._gca_resource.study_spec.median_automated_stopping_spec = rule


def _submit(job: aiplatform.HyperparameterTuningJob, **when: Any) -> None:
    """job.run(), without its wait for the end: for tuning jobs the SDK has no submit()."""
    job._block_until_complete = lambda: None  # type: ignore[method-assign]
    try:
        job.run(**when)
    finally:
        del job._block_until_complete
