"""Send a training job to SageMaker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from AWS_helpers import images, spending
from AWS_helpers.costs import MACHINE, estimate_cost, machine_with
from AWS_helpers.describe import SageMaker
from AWS_helpers.session import Session, current_session, refusals
from lesson import LessonError
from lesson.jobs import sending, waiting
from lesson.jobs.code import FOLDER, SCRIPT, folder_of, score_name
from lesson.jobs.request import Request, copy_arguments
from lesson.jobs.runs import Run
from lesson.money import budget, costs
from lesson.services.sessions import learner, new_name

if TYPE_CHECKING:
    from sagemaker.core.resources import TrainingJob
    from sagemaker.core.training.configs import MetricDefinition, Tag
    from sagemaker.train import ModelTrainer

CHANNELS = "/opt/ml/input/data"  # where a job finds its data, in a folder for each channel
DAY = 24 * 3600


def train(
    args: Mapping[str, Any],
    machine: str = MACHINE,
    replicas: int = 1,
    *,
    gpu: str | None = None,
    spot: bool = False,
    wait: bool = True,
    dry_run: bool = False,
    torchrun: bool = False,
    container_uri: str | None = None,
    code: str | Path | Run | None = None,
) -> Run | Request:
    """Send train_nn.py to SageMaker, as a job of its own, and wait for its end.

    `args` maps flags of train_nn.py, without the dashes, to values; data is named by s3:// URIs.
    `gpu` chooses the instance type, or must fit the one that is named. With `torchrun` SageMaker
    starts the script through torchrun, once for each GPU; `container_uri` is an image of your own
    instead of Amazon's, `code` the folder of your copy of the script, or a run whose code is to be
    used again. With `spot` the machines may be taken away, and the job is then started again: give
    args a `checkpoint_every`, or a stop costs all that was done. What is in the `tensorboard_dir`
    of args is copied to S3 while the job runs, beside its results. With wait=False this returns at
    once, and wait(run) later. Returns a row of the run table, with the SDK's object at .job and the
    request at .request; with dry_run=True the request alone, unsent: print it to read it. Raises
    LessonError for what cannot be sent, and for a job that fails.
    """
    session = current_session()
    sending.check_readable(args, "s3://")
    machine = machine_with(machine, gpu)
    folder = folder_of(code) if code else FOLDER
    an_hour = partial(estimate_cost, machine, replicas=replicas, region=session.region)
    costs.state("SageMaker", an_hour, spot)
    sending.warn_of_stops(args, spot)
    image = container_uri or images.image_for(machine, session.region)
    images.warn(image)
    request = training_request(
        session,
        args,
        machine,
        replicas=replicas,
        spot=spot,
        torchrun=torchrun,
        image=image,
        code=folder,
    )
    if dry_run:
        return request
    cloud = SageMaker(session)
    budget.require(an_hour, budget.HOUR, partial(spending.estimate_spending, cloud))
    run = waiting.run_of(cloud, send(request), request, code=folder.name)
    return waiting.follow(cloud, run) if wait else run


def training_request(
    session: Session,
    args: Mapping[str, Any],
    machine: str,
    *,
    replicas: int,
    spot: bool,
    torchrun: bool,
    image: str,
    code: Path,
) -> Request:
    """Return the calls that send train_nn.py, with the folder that it is in."""
    from sagemaker.core.training import configs
    from sagemaker.train.distributed import Torchrun

    flags, data = channels(args)
    # What a job keeps for after a stop: its own name is not known before it is sent.
    stops = f"{session.uri}/runs/{new_name('train')}/checkpoints"
    events = None
    if written := args.get("tensorboard_dir"):
        events = configs.TensorBoardOutputConfig(
            local_path=str(written), s3_output_path=f"{session.uri}/runs"
        )
    request = Request(
        {
            "ModelTrainer": {
                # The SDK adds date and time.
                "base_job_name": f"train-nn-{learner()}-{datetime.now():%f}",
                **trainer(
                    session,
                    flags=flags,
                    machine=machine,
                    replicas=replicas,
                    image=image,
                    spot=spot,
                    seconds=DAY,
                    code=code,
                ),
                "distributed": Torchrun() if torchrun else None,
                # A job's code and results are stored below s3://BUCKET/runs/JOB/.
                "input_s3_key_prefix": "runs",
                "output_data_config": configs.OutputDataConfig(
                    s3_output_path=f"{session.uri}/runs"
                ),
                "checkpoint_config": configs.CheckpointConfig(s3_uri=stops) if spot else None,
            },
            "with_metric_definitions": {
                "metric_definitions": metric_definitions(code),
            },
            "with_tensorboard_output_config": {"tensorboard_output_config": events},
            "train": {
                "input_data_config": [
                    configs.InputData(channel_name=name, data_source=uri)
                    for name, uri in data.items()
                ],
                "wait": False,
                "logs": False,
            },
        }
    )
    if not events:
        del request["with_tensorboard_output_config"]
    return request


def trainer(
    session: Session,
    *,
    flags: Mapping[str, Any],
    machine: str,
    replicas: int,
    image: str,
    spot: bool,
    seconds: int,
    code: Path,
) -> dict[str, Any]:
    """Return the arguments of a ModelTrainer that a job and a trial of a study have in common."""
    from sagemaker.core.training import configs

    return {
        "training_image": image,
        "source_code": configs.SourceCode(source_dir=os.path.relpath(code), entry_script=SCRIPT),
        "hyperparameters": flags,
        "compute": configs.Compute(
            instance_type=machine,
            instance_count=replicas,
            enable_managed_spot_training=spot,
        ),
        "stopping_condition": configs.StoppingCondition(
            max_runtime_in_seconds=seconds, max_wait_time_in_seconds=seconds if spot else None
        ),
        "tags": tags(session),
        "role": session.role,
        "sagemaker_session": session.sagemaker,
    }


def send(request: Request) -> TrainingJob:
    """Send what train(..., dry_run=True) returned, and return the SDK's object of the job."""
    from sagemaker.core.resources import TrainingJob
    from sagemaker.train import ModelTrainer

    with sending.explain_interrupts(), refusals("sending the job"):
        trainer = ModelTrainer(**copy_arguments(request["ModelTrainer"]))
        trainer.with_metric_definitions(**copy_arguments(request["with_metric_definitions"]))
        if "with_tensorboard_output_config" in request:
            events = copy_arguments(request["with_tensorboard_output_config"])
            trainer.with_tensorboard_output_config(**events)
        trainer.train(**copy_arguments(request["train"]))
        boto = request["ModelTrainer"]["sagemaker_session"].boto_session
        return TrainingJob.get(name_of_sent(trainer), session=boto, region=boto.region_name)


def name_of_sent(trainer: ModelTrainer) -> str:
    """Return the name of the job that a trainer has sent.

    The SDK makes the name, date and time included, and says it nowhere but in the job's output
    folder: s3://BUCKET/runs/NAME/output/model.tar.gz.
    """
    try:
        return str(trainer.output_data.split("/")[-3])
    except ValueError:  # the SDK catches more than it should, an interrupt too
        raise sending.interruption() from None


# ---- before a job is sent -----------------------------------------------------------------------
def tags(session: Session) -> list[Tag]:
    """Return what is put on jobs, so that cleanup() finds them."""
    from sagemaker.core.training.configs import Tag

    return [Tag(key=key, value=value) for key, value in session.tags.items()]


def metric_definitions(code: Path) -> list[MetricDefinition]:
    """Return which numbers SageMaker reads out of the log of this script."""
    from sagemaker.core.training.configs import MetricDefinition

    names = (f"validation:{score_name(code)}", "validation:loss")
    return [MetricDefinition(name=name, regex=f"{name} = ([0-9.eE+-]+)") for name in names]


def channels(args: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the job's flags, in which data is a file of a channel, and the channels' URIs.

    SageMaker copies the objects of a channel to every instance before the job starts.
    """
    data = {name: str(args[name]) for name in ("train", "val") if name in args}
    files = {name: f"{CHANNELS}/{name}/{uri.rpartition('/')[2]}" for name, uri in data.items()}
    if quoted := [name for name, value in args.items() if "'" in f"{name}{value}"]:
        raise LessonError(
            f"--{quoted[0]} {args[quoted[0]]}: the SDK hands flags to a shell between single "
            "quotes, so a flag can hold none; choose a value without"
        )
    return {**args, **files}, data
