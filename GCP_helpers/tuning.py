"""Hyperparameter tuning on Vertex AI: a search for good settings, each trial a job of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from GCP_helpers import images, spending
from GCP_helpers.costs import accelerator_type, estimate_cost
from GCP_helpers.describe import VertexAI
from GCP_helpers.session import Session, current_session, refusals
from lesson.jobs import sending, tuning, waiting
from lesson.jobs.code import FOLDER, folder_of
from lesson.jobs.request import Request, Result
from lesson.jobs.runs import Run
from lesson.jobs.studies import Between, OneOf, Space, Study
from lesson.machines.this_machine import flags
from lesson.services.sessions import new_name

if TYPE_CHECKING:
    from google.cloud.aiplatform.gapic import CustomJobSpec, Scheduling, StudySpec

    from GCP_helpers.describe import Tuning

# The service's names, of StudySpec.Algorithm: without one it is Bayesian optimisation.
ALGORITHMS = {"bayesian": None, "random": "RANDOM_SEARCH", "grid": "GRID_SEARCH"}
SCALES = {
    "linear": "UNIT_LINEAR_SCALE",
    "log": "UNIT_LOG_SCALE",
    "reverse log": "UNIT_REVERSE_LOG_SCALE",
}


def tune(
    args: Mapping[str, Any],
    space: Space,
    metric: str = "validation_loss",
    *,
    trials: int = 12,
    parallel: int = 2,
    machine: str = "n1-standard-4",
    replicas: int = 1,
    gpu: str | None = None,
    spot: bool = False,
    wait: bool = True,
    dry_run: bool = False,
    algorithm: str = "bayesian",
    goal: str | None = None,
    early_stopping: bool = False,
    gpu_count: int = 1,
    container_uri: str | None = None,
    code: str | Path | Run | None = None,
) -> Study | Request:
    """Let Vertex AI search `space` for the best flags of train_nn.py, and wait for the end.

    `args` are flags as for train(), the same in every trial; `space` maps other flags to what may
    be tried: between(0.0001, 0.1, scale="log"), one_of("16", "64,32"). Each of the `trials` is a
    job with a folder of its own, `parallel` of them at a time, on machines as for train(). `metric`
    is a tag that the script reports; the least of a loss is looked for, the most of anything else,
    unless `goal` says minimize or maximize. `algorithm` is bayesian, random or grid. With
    `early_stopping` a trial ends whose best so far is worse than the median of the others.
    `code` is the folder of your copy of the script, or a run whose code is to be used again.

    With wait=False this returns at once, and wait(study) later; with dry_run=True it returns the
    request alone, unsent: print it to read it. Raises LessonError for what cannot
    be sent, and NoResult, which is one, for a study none of whose trials came to a result.
    """
    session = current_session()
    sending.check_readable(args, "gs://", "/gcs/")
    tuning.check(space, args, trials=trials, parallel=parallel)
    tuning.check_algorithm(algorithm, [*ALGORITHMS], space, service="Vertex AI")
    goal = tuning.goal_of(metric, goal)
    an_hour = partial(
        estimate_cost, machine, gpu, replicas, gpu_count=gpu_count, region=session.region
    )
    tuning.state_cost("Vertex AI", an_hour, trials, parallel=parallel, spot=spot)
    sending.warn_of_stops(args, spot)
    image = container_uri or images.image_for(gpu)
    images.warn(image)
    request = tuning_request(
        session, args, space, metric=metric, goal=goal, algorithm=algorithm,
        early_stopping=early_stopping, trials=trials, parallel=parallel, machine=machine,
        replicas=replicas, gpu=gpu, gpu_count=gpu_count, spot=spot, image=image,
        code=folder_of(code) if code else FOLDER,
    )  # fmt: skip
    if dry_run:
        return request

    cloud = VertexAI(session)
    spent = partial(spending.estimate_spending, cloud)
    tuning.require_budget(an_hour, trials, parallel, spent=spent)
    job = send(request)
    if wait:
        return waiting.follow_study(cloud, job, request)
    return waiting.study_of(cloud, job, request)


def tuning_request(
    session: Session,
    args: Mapping[str, Any],
    space: Space,
    *,
    metric: str,
    goal: str,
    algorithm: str,
    early_stopping: bool,
    trials: int,
    parallel: int,
    machine: str,
    replicas: int,
    gpu: str | None,
    gpu_count: int,
    spot: bool,
    image: str,
    code: Path,
) -> Request:
    """Return the calls that send a tuning job: the job that each trial is, and the study.

    By the client of the service: the SDK's own class HyperparameterTuningJob sends the same, but
    its run() waits for the end, and it has no argument for early stopping.
    """
    from google.cloud.aiplatform.gapic import Scheduling, StudySpec

    name = new_name("tune")
    early = StudySpec.MedianAutomatedStoppingSpec(use_elapsed_duration=False)
    trial = {
        "display_name": name,
        "script_path": os.path.relpath(code),
        "container_uri": image,
        "base_output_dir": f"{session.uri}/runs/{name}",  # below it a folder for each trial
        "machine_type": machine,
        "replica_count": replicas,
        "accelerator_type": accelerator_type(gpu),
        "accelerator_count": gpu_count if gpu else 0,
    }
    trial_spec = {
        "custom_job": Result("CustomJob.from_local_script"),
        "args": flags(args),
        "scheduling": Scheduling(
            timeout=timedelta(hours=tuning.LIMIT),
            strategy=Scheduling.Strategy.SPOT if spot else None,
        ),
    }
    study = {
        "display_name": name,
        "study_spec": StudySpec(
            metrics=[StudySpec.MetricSpec(metric_id=metric, goal=goal.upper())],
            parameters=[_parameter(flag, what) for flag, what in space.items()],
            algorithm=ALGORITHMS[algorithm],
            measurement_selection_type="LAST_MEASUREMENT",  # of the model that is written
            median_automated_stopping_spec=early if early_stopping else None,
        ),
        "max_trial_count": trials,
        "parallel_trial_count": parallel,
        "trial_job_spec": Result("trial_job_spec"),
        "labels": session.labels,
    }
    return Request(
        {
            "CustomJob.from_local_script": trial,
            "trial_job_spec": trial_spec,
            "HyperparameterTuningJob": study,
            "create_hyperparameter_tuning_job": {
                "parent": f"projects/{session.project}/locations/{session.region}",
                "hyperparameter_tuning_job": Result("HyperparameterTuningJob"),
            },
        },
        clients={"create_hyperparameter_tuning_job": "service()"},
    )


def send(request: Request) -> Tuning:
    """Send what tune(..., dry_run=True) returned, and return the SDK's object of the study."""
    from google.cloud import aiplatform
    from google.cloud.aiplatform.gapic import HyperparameterTuningJob

    with sending.explain_interrupts(), refusals("sending the tuning job"):
        trial = aiplatform.CustomJob.from_local_script(**request["CustomJob.from_local_script"])
        spec = trial_job_spec(**request["trial_job_spec"] | {"custom_job": trial})
        study = HyperparameterTuningJob(
            **request["HyperparameterTuningJob"] | {"trial_job_spec": spec}
        )
        create = request["create_hyperparameter_tuning_job"]
        sent = service().create_hyperparameter_tuning_job(
            **create | {"hyperparameter_tuning_job": study}
        )
        return cast("Tuning", aiplatform.HyperparameterTuningJob.get(sent.name))


def _parameter(flag: str, what: Between | OneOf) -> StudySpec.ParameterSpec:
    """Return a dimension of the space, as an object of the SDK."""
    from google.cloud.aiplatform.gapic import StudySpec

    spec = StudySpec.ParameterSpec
    if isinstance(what, OneOf):
        if what.numbers:
            numbers = spec.DiscreteValueSpec(values=what.values)
            return spec(parameter_id=flag, discrete_value_spec=numbers, scale_type=SCALES["linear"])
        texts = spec.CategoricalValueSpec(values=what.values)
        return spec(parameter_id=flag, categorical_value_spec=texts)
    ends = {"min_value": what.low, "max_value": what.high}
    if what.whole:
        whole = spec.IntegerValueSpec(ends)
        return spec(parameter_id=flag, integer_value_spec=whole, scale_type=SCALES[what.scale])
    real = spec.DoubleValueSpec(ends)
    return spec(parameter_id=flag, double_value_spec=real, scale_type=SCALES[what.scale])


def trial_job_spec(custom_job: Any, args: list[str], scheduling: Scheduling) -> CustomJobSpec:
    """Return the job that every trial is, of which the service makes a copy with more flags.

    `custom_job` has not been sent; only its code has been uploaded. Google's images run a package,
    with flags. For any other image the SDK writes a command for a shell. The flags of a trial come
    after it, and the shell would keep them for itself: so here it hands all of them on.
    """
    spec: CustomJobSpec = custom_job.job_spec
    spec.scheduling = scheduling
    for pool in filter(None, spec.worker_pool_specs):
        if pool.python_package_spec:
            pool.python_package_spec.args = args
        else:
            shell, option, command = pool.container_spec.command
            pool.container_spec.command = [shell, option, f'{command} "$@"', shell]
            pool.container_spec.args = args
    return spec


def service() -> Any:
    """Return the client of the service that the SDK itself uses, as connect() has set it up."""
    from google.cloud.aiplatform import initializer, utils

    return initializer.global_config.create_client(client_class=utils.JobClientWithOverride)
