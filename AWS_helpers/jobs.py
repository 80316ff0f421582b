"""Training jobs on SageMaker: send one, list them, watch one, cancel one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

from AWS_helpers import images, looking, trials
from AWS_helpers.costs import MACHINE, estimate_cost, machine_with
from AWS_helpers.looking import ENDED, job_of
from AWS_helpers.session import connected, refusals, sagemaker
from AWS_helpers.watching import follow, run_of
from lesson import ROOT, LessonError, costs, jobs
from lesson.runs import Run
from lesson.studies import Study

if TYPE_CHECKING:
    import pandas as pd

    from AWS_helpers.looking import Job

FOLDER = ROOT / "training"  # is sent whole, and must hold no link
SCRIPT = "train_nn.py"
CHANNELS = "/opt/ml/input/data"  # where a job finds its data, in a folder for each channel
DAY = 24 * 3600
# SageMaker reads these numbers out of the job's log.
METRICS = {
    "validation:accuracy": r"validation:accuracy = ([0-9.eE+-]+)",
    "validation:loss": r"validation:loss = ([0-9.eE+-]+)",
}
NEWEST = 100  # jobs that list_jobs() asks about, one by one


def train(
    args: Mapping[str, Any],
    machine: str = MACHINE,
    replicas: int = 1,
    gpu: str | None = None,
    spot: bool = False,
    wait: bool = True,
    *,
    torchrun: bool = False,
    container_uri: str | None = None,
) -> Run:
    """Send train_nn.py to SageMaker, as a job of its own, and wait for its end.

    `args` maps flags of train_nn.py, without the dashes, to values; data is named by s3://
    addresses. `gpu` chooses the instance type, or must fit the one that is named. With `torchrun`
    SageMaker starts the script through torchrun, once for each GPU; `container_uri` is an image of
    your own instead of Amazon's. With `spot` the machines may be taken away, and the job is then
    started again: give args a `checkpoint_every`, or a stop costs all that was done. What lies in
    the `tensorboard_dir` of args is copied to S3 while the job runs, beside its results. With
    wait=False this returns at once, and wait(run) later. Returns a row of the run table, with the
    SDK's object at .job and what the SDK was told at .request. Raises LessonError for what cannot
    be sent, and for a job that fails.
    """
    from sagemaker.core.training.configs import (
        InputData,
        MetricDefinition,
        TensorBoardOutputConfig,
    )
    from sagemaker.train import ModelTrainer
    from sagemaker.train.distributed import Torchrun

    session = connected()
    jobs.check_readable(args, "s3://")
    machine = machine_with(machine, gpu)
    costs.state("SageMaker", lambda: price(machine, replicas), spot)
    jobs.warn_of_stops(args, spot)
    image = container_uri or images.image_for(machine, session.region)
    images.warn(image)
    flags, data = channels(args)
    now = datetime.now()
    what: dict[str, Any] = {
        "base_job_name": f"train-nn-{now:%f}",  # the SDK adds date and time
        "training_image": image,
        "hyperparameters": flags,
        # All that belongs to a job lies below s3://BUCKET/runs/JOB/: its code and its results.
        "input_s3_key_prefix": "runs",
        # What it keeps for after a stop lies elsewhere: its name is not known before it is sent.
        **described("runs", f"runs/train-nn-{now:%Y%m%d-%H%M%S-%f}", machine, replicas, spot),
    }
    if torchrun:
        what["distributed"] = Torchrun()
    metrics = [MetricDefinition(name=name, regex=regex) for name, regex in METRICS.items()]
    events: dict[str, Any] = {}
    if written := args.get("tensorboard_dir"):
        place = TensorBoardOutputConfig(
            local_path=str(written), s3_output_path=f"{session.address}/runs"
        )
        events = {"with_tensorboard_output_config": {"tensorboard_output_config": place}}
    inputs = [InputData(channel_name=name, data_source=source) for name, source in data.items()]
    with jobs.sending(), refusals("sending the job"):
        trainer = ModelTrainer(**what, sagemaker_session=sagemaker())
        trainer.with_metric_definitions(metrics)
        if events:
            trainer.with_tensorboard_output_config(**events["with_tensorboard_output_config"])
        trainer.train(input_data_config=inputs, wait=False, logs=False)
    job: Job | None = trainer._latest_training_job  # the SDK has no public name for it
    if job is None:  # the SDK catches more than it should, an interrupt too
        raise jobs.interrupted()
    request = {
        "ModelTrainer": what,
        "with_metric_definitions": {"metric_definitions": metrics},
        **events,
        "train": {"input_data_config": inputs, "wait": False, "logs": False},
    }
    run = run_of(job, request)
    return follow(job, run) if wait else run


@overload
def wait(run_or_job: Run) -> Run: ...
@overload
def wait(run_or_job: Study) -> Study: ...
@overload
def wait(run_or_job: Job | str) -> Run | Study: ...
def wait(run_or_job: Run | Study | Job | str) -> Run | Study:
    """Show how far a job is until it ends, and fetch its results; returns the completed run.

    Takes what train() returned, an SDK object, or a job's name; of what tune() returned, or a
    tuning job, it shows the trials and returns the study. Interrupting it leaves the job running;
    call it again to go on watching. Raises LessonError if the job fails.
    """
    connected()
    job = job_of(run_or_job)
    if looking.is_tuning(job):
        return trials.follow(job, run_or_job.request if isinstance(run_or_job, Study) else {})
    return follow(job, run_or_job if isinstance(run_or_job, Run) else run_of(job, {}))


def cancel(run_or_job: Run | Study | Job | str) -> None:
    """Ask SageMaker to stop a job; takes what wait() takes. A job that has ended stays as it is."""
    connected()
    job = job_of(run_or_job)
    name = looking.name_of(job)
    with refusals(f"cancelling {name}"):
        job.refresh()
        if (word := looking.state(job)) in ENDED:
            print(f"{name} had already ended: {word}")
            return
        job.stop()
    print(f"asked for the end of {name}; wait({name!r}) shows it")


def list_jobs() -> pd.DataFrame:
    """The newest 100 training and tuning jobs of the account and region, newest first."""
    connected()
    with refusals("listing the jobs"):
        return jobs.table([_row(job) for job in islice(looking.every(), NEWEST)])


def _row(job: Job) -> Sequence[Any]:
    asked, state = looking.asked(job), looking.state(job)
    count = f"{looking.sent(job)} trials on " if looking.is_tuning(job) else ""
    return jobs.row(asked.name, state, looking.times(job), asked.replicas, f"{count}{asked}")


# ---- before a job is sent -----------------------------------------------------------------------
def described(results: str, stops: str, machine: str, replicas: int, spot: bool) -> dict[str, Any]:
    """What a job runs and on what, in the SDK's words.

    `results` and `stops` are folders of the bucket: for what it makes, and what outlives a stop.
    """
    from sagemaker.core.training.configs import (
        CheckpointConfig,
        Compute,
        OutputDataConfig,
        SourceCode,
        StoppingCondition,
        Tag,
    )

    session = connected()
    what: dict[str, Any] = {
        "role": session.role,
        "source_code": SourceCode(source_dir=os.path.relpath(FOLDER), entry_script=SCRIPT),
        "compute": Compute(
            instance_type=machine, instance_count=replicas, enable_managed_spot_training=spot
        ),
        "stopping_condition": StoppingCondition(
            max_runtime_in_seconds=DAY, **({"max_wait_time_in_seconds": DAY} if spot else {})
        ),
        "output_data_config": OutputDataConfig(s3_output_path=f"{session.address}/{results}"),
        "tags": [Tag(key=key, value=value) for key, value in session.tags.items()],
    }
    if spot:
        kept = f"{session.address}/{stops}/checkpoints"
        what["checkpoint_config"] = CheckpointConfig(s3_uri=kept)
    return what


def channels(args: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The job's flags, in which data is a file of a channel, and the channels' addresses.

    SageMaker copies the objects of a channel to every instance before the job starts.
    """
    data = {name: str(args[name]) for name in ("train", "val") if name in args}
    files = {
        name: f"{CHANNELS}/{name}/{address.rpartition('/')[2]}" for name, address in data.items()
    }
    if quoted := [name for name, value in args.items() if "'" in f"{name}{value}"]:
        raise LessonError(
            f"--{quoted[0]} {args[quoted[0]]}: the SDK hands flags to a shell between single "
            "quotes, so a flag can hold none; choose a value without"
        )
    return {**args, **files}, data


def price(machine: str, replicas: int) -> costs.Estimate:
    """What an hour of these instances costs in the session's region."""
    return estimate_cost(machine, replicas=replicas, region=connected().region)
