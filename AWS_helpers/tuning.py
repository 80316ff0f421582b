"""Hyperparameter tuning on SageMaker: a search for good settings, each trial a training job."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from AWS_helpers import images, spending
from AWS_helpers.costs import MACHINE, estimate_cost, machine_with
from AWS_helpers.describe import SageMaker
from AWS_helpers.jobs import channels, trainer
from AWS_helpers.session import Session, current_session, refusals
from lesson import LessonError
from lesson.jobs import sending, tuning, waiting
from lesson.jobs.code import FOLDER, folder_of, score_name
from lesson.jobs.request import Request, Result, copy_arguments
from lesson.jobs.runs import Run
from lesson.jobs.studies import Between, OneOf, Space, Study
from lesson.services.sessions import learner

if TYPE_CHECKING:
    from sagemaker.core.shapes import HyperParameterTuningJobStrategyConfig
    from sagemaker.train.tuner import HyperparameterTuner

    from AWS_helpers.describe import Tuning

ALGORITHMS = ("bayesian", "random", "grid", "hyperband")
SCALES = {"linear": "Linear", "log": "Logarithmic", "reverse log": "ReverseLogarithmic"}
NUMBER = "([0-9.eE+-]+)"


def tune(
    args: Mapping[str, Any],
    space: Space,
    metric: str = "validation_loss",
    *,
    trials: int = 12,
    parallel: int = 2,
    machine: str = MACHINE,
    replicas: int = 1,
    gpu: str | None = None,
    spot: bool = False,
    wait: bool = True,
    dry_run: bool = False,
    algorithm: str = "bayesian",
    goal: str | None = None,
    early_stopping: bool = False,
    container_uri: str | None = None,
    code: str | Path | Run | None = None,
) -> Study | Request:
    """Let SageMaker search `space` for the best flags of train_nn.py, and wait for the end.

    `args` are flags as for train(), the same in every trial; `space` maps other flags to what may
    be tried: between(0.0001, 0.1, scale="log"), one_of("16", "64,32"). Each of the `trials` is a
    training job with a folder of its own, `parallel` of them at a time, on machines as for train().
    `metric` is what SageMaker reads out of the log: validation_loss stands for its validation:loss.
    The least of a loss is looked for, the most of anything else, unless `goal` says minimize or
    maximize. `algorithm` is bayesian, random, grid (of one_of() only, all of it) or hyperband. With
    `early_stopping` a trial may be ended that does worse than earlier ones. `container_uri`
    is an image of your own, in which SageMaker's training toolkit has to be. `code` is the folder
    of your copy of the script, or a run whose code is to be used again.

    With wait=False this returns at once, and wait(study) later; with dry_run=True it returns the
    request alone, unsent: print it to read it. Raises LessonError for what cannot
    be sent, and NoResult, which is one, for a study none of whose trials came to a result.
    """
    session = current_session()
    sending.check_readable(args, "s3://")
    tuning.check(space, args, trials=trials, parallel=parallel)
    tuning.check_algorithm(algorithm, ALGORITHMS, space, service="SageMaker")
    trials = _combinations(space, trials) if algorithm == "grid" else trials
    goal = tuning.goal_of(metric, goal)
    machine = machine_with(machine, gpu)
    an_hour = partial(estimate_cost, machine, replicas=replicas, region=session.region)
    tuning.state_cost("SageMaker", an_hour, trials, parallel=parallel, spot=spot)
    sending.warn_of_stops(args, spot)
    image = container_uri or images.image_for(machine, session.region)
    images.warn(image)
    objective = metric.replace("_", ":", 1)
    print(f"SageMaker reads {metric} out of the log of each trial, as {objective}")
    request = tuning_request(
        session, args, space, objective=objective, goal=goal, algorithm=algorithm,
        early_stopping=early_stopping, trials=trials, parallel=parallel,
        machine=machine, replicas=replicas, spot=spot, image=image,
        code=folder_of(code) if code else FOLDER,
    )  # fmt: skip
    if dry_run:
        return request

    cloud = SageMaker(session)
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
    objective: str,
    goal: str,
    algorithm: str,
    early_stopping: bool,
    trials: int,
    parallel: int,
    machine: str,
    replicas: int,
    spot: bool,
    image: str,
    code: Path,
) -> Request:
    """Return the calls that send a tuning job: a trainer for each trial, and the search."""
    from sagemaker.core.training import configs

    flags, data = channels(args)
    name = f"tune-nn-{learner()}-{datetime.now():%d%H%M%S%f}"
    folder = f"{session.uri}/runs/{name}"  # all that belongs to the study is stored below it
    return Request(
        {
            "ModelTrainer": {
                # Names no job here, but where the SDK puts the code.
                "base_job_name": f"runs/{name}",
                **trainer(
                    session,
                    flags=flags,
                    machine=machine,
                    replicas=replicas,
                    image=image,
                    spot=spot,
                    seconds=tuning.LIMIT * 3600,
                    code=code,
                ),
                "output_data_config": configs.OutputDataConfig(s3_output_path=folder),
                "checkpoint_config": configs.CheckpointConfig(s3_uri=f"{folder}/checkpoints")
                if spot
                else None,
            },
            "HyperparameterTuner": {
                "model_trainer": Result("ModelTrainer"),
                "objective_metric_name": objective,
                "objective_type": goal.capitalize(),
                "metric_definitions": _definitions(objective, score_name(code)),
                "hyperparameter_ranges": {flag: _range(what) for flag, what in space.items()},
                "strategy": algorithm.capitalize(),
                "strategy_config": _hyperband() if algorithm == "hyperband" else None,
                "max_jobs": trials,
                "max_parallel_jobs": parallel,
                "early_stopping_type": "Auto" if early_stopping else "Off",
            },
            "tune": {
                "inputs": [
                    configs.InputData(channel_name=name, data_source=uri)
                    for name, uri in data.items()
                ],
                "job_name": name,
                "wait": False,
            },
        }
    )


def send(request: Request) -> Tuning:
    """Send what tune(..., dry_run=True) returned, and return the SDK's object of the study."""
    with sending.explain_interrupts(), refusals("sending the tuning job"):
        tuner = make(request)
        tuner.tune(**copy_arguments(request["tune"]))
        job: Tuning = tuner.latest_tuning_job
    return job


def make(request: Request) -> HyperparameterTuner:
    """Make the SDK's object of the search, with the trainer of its trials; nothing is sent."""
    from sagemaker.train import ModelTrainer
    from sagemaker.train.tuner import HyperparameterTuner

    trainer = ModelTrainer(**copy_arguments(request["ModelTrainer"]))
    search = copy_arguments(request["HyperparameterTuner"]) | {"model_trainer": trainer}
    return HyperparameterTuner(**search)


def _range(what: Between | OneOf) -> Any:
    """Return a dimension of the space, as an object of the SDK."""
    from sagemaker.core.parameter import (
        CategoricalParameter,
        ContinuousParameter,
        IntegerParameter,
    )

    if isinstance(what, OneOf):
        return CategoricalParameter(list(what.values))
    kind = IntegerParameter if what.whole else ContinuousParameter
    return kind(what.low, what.high, scaling_type=SCALES[what.scale])


def _hyperband() -> HyperParameterTuningJobStrategyConfig:
    """Return how long Hyperband lets a trial run: each line with the metric counts as an epoch.

    train_nn.py says about eleven of its epochs, however many there are, and the end: a whole trial
    has fewer than the most, at which it would be stopped and not come to its end.
    """
    from sagemaker.core.shapes import (
        HyperbandStrategyConfig,
        HyperParameterTuningJobStrategyConfig,
    )

    config = HyperbandStrategyConfig(min_resource=1, max_resource=20)
    return HyperParameterTuningJobStrategyConfig(hyperband_strategy_config=config)


def _definitions(objective: str, score: str) -> list[dict[str, str]]:
    """Return what to read out of a trial's log: of its epochs, and of the model that it wrote.

    Of a metric that is neither loss nor score, lines like `NAME = 0.5`.
    """
    regexes = {
        objective: rf"{re.escape(objective)} = {NUMBER}",
        f"validation:{score}": rf"{re.escape(score)}[ =]+{NUMBER}",
        "validation:loss": rf"validation[: ]loss[ =]+{NUMBER}",
    }
    return [{"Name": name, "Regex": regex} for name, regex in regexes.items()]


def _combinations(space: Space, trials: int) -> int:
    """Return how many trials a grid is: all combinations, which SageMaker insists on."""
    ranges = [name for name, what in space.items() if isinstance(what, Between)]
    if ranges:
        raise LessonError(f"{', '.join(ranges)}: SageMaker's grid takes one_of(...) only")
    count = math.prod(len(what.values) for what in space.values() if isinstance(what, OneOf))
    if count > trials:
        raise LessonError(
            f"the grid has {count} combinations, and SageMaker tries all of them: name "
            f"trials={count}, or fewer values"
        )
    return count
