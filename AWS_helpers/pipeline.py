"""A pipeline on SageMaker: build its definition with the SDK, and send it."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from AWS_helpers import pipeline_steps, spending
from AWS_helpers.costs import MACHINE, estimate_cost
from AWS_helpers.describe import SageMaker
from AWS_helpers.jobs import channels
from AWS_helpers.session import Session, current_session, refusals
from lesson import LessonError
from lesson.jobs import sending
from lesson.jobs.code import FOLDER, folder_of
from lesson.jobs.request import Request
from lesson.jobs.runs import Run
from lesson.jobs.watching import pause
from lesson.money import budget, costs

if TYPE_CHECKING:
    from sagemaker.core.workflow.pipeline_context import PipelineSession
    from sagemaker.mlops.workflow.pipeline import Pipeline, PipelineExecution

RUNS = ("Executing", "Stopping")


@dataclass(frozen=True)
class Definition:
    """A pipeline that has been built: the SDK's own object, and what its steps run on."""

    pipeline: Pipeline
    machine: str
    name: str
    group: str  # of the model packages that it registers


def pipeline(
    args: Mapping[str, Any],
    table: str | Path = "data/titanic_train.csv",
    better_than: float = 0.8,
    *,
    machine: str = MACHINE,
    name: str = "titanic",
    code: str | Path | Run | None = None,
    label: str | None = None,
) -> Definition:
    """Build the pipeline prepare, train, evaluate, register, and return its definition.

    `args` are flags of train_nn.py, as for train(), without the data, `code` is as for train(), and
    `label` as for prepare(). A model is registered, as approved, if its mean score on the
    validation rows is better than this: the share of right answers, unless `code` defines another
    score. The SDK uploads the table and the code while the steps are made; nothing runs yet.
    `.pipeline` is the SDK's own object, whose definition() is what is sent. Raises LessonError for
    a table that is not there.
    """
    from sagemaker.core.workflow.parameters import ParameterFloat, ParameterInteger
    from sagemaker.core.workflow.pipeline_context import PipelineSession

    sending.check_pipeline(args, table)
    folder = folder_of(code) if code else FOLDER
    channels(args)  # refuses a flag that the SDK cannot hand on
    own = current_session()
    session = PipelineSession(boto_session=own.boto, default_bucket=own.bucket)
    least = ParameterFloat("BetterThan", better_than)
    parameters: list[Any] = [least]
    if isinstance(args.get("epochs"), int):
        parameters.append(ParameterInteger("Epochs", args["epochs"]))
        args = {**args, "epochs": parameters[-1]}
    with refusals(f"building the pipeline {name}"), _quiet():
        prepared = pipeline_steps.prepare(session, Path(table), machine, label=label)
        trained = pipeline_steps.train(session, prepared, args, machine=machine, code=folder)
        judged, score = pipeline_steps.evaluate(
            session, prepared, trained, machine=machine, code=folder
        )
        kept = pipeline_steps.register(session, judged, name)
        better = pipeline_steps.register_if(score, least, kept)
        return Definition(
            _pipeline(session, name, parameters, made=[prepared, trained, judged, better]),
            machine,
            name,
            group=name,
        )


def run_pipeline(
    definition: Definition,
    wait: bool = True,
    dry_run: bool = False,
    *,
    parameters: Mapping[str, Any] | None = None,
) -> PipelineExecution | Request:
    """Send a pipeline to SageMaker and start it, and wait for its end; returns the SDK's object.

    `parameters` are values for this execution alone: BetterThan, and Epochs if args had epochs.
    With wait=False this returns at once. With dry_run=True this returns the request alone, unsent.
    Raises LessonError for what cannot be sent or would exceed LESSON_BUDGET, and for a pipeline
    that fails.
    """
    session = current_session()
    # Its steps run one after the other.
    an_hour = partial(estimate_cost, definition.machine, region=session.region)
    costs.state("SageMaker", an_hour, spot=False)
    print("while a step runs; a step whose result is reused costs nothing")
    request = Request(
        {
            "upsert": {"role_arn": session.role, "tags": session.tag_list},
            "start": {"parameters": dict(parameters or {})},
        },
        clients={"upsert": "definition.pipeline", "start": "definition.pipeline"},
    )
    if dry_run:
        return request
    spent = partial(spending.estimate_spending, SageMaker(session))
    budget.require(an_hour, budget.HOUR, spent)
    with (
        sending.explain_interrupts(),
        refusals(f"sending the pipeline {definition.name}"),
        _quiet(),
    ):
        _make_group(session, definition.group)
        definition.pipeline.upsert(**request["upsert"])
        execution: PipelineExecution = definition.pipeline.start(**request["start"])
    return follow(execution) if wait else execution


def follow(execution: PipelineExecution) -> PipelineExecution:
    """Print each step of an execution when it ends; raise LessonError if one fails."""
    try:
        with refusals("watching the pipeline"):
            status = _watch(execution)
            if status != "Succeeded":
                raise LessonError(f"the status of the pipeline is {status}. {_reason(execution)}")
    except KeyboardInterrupt:
        raise LessonError(
            "no longer watching, but the pipeline continues: follow(execution) watches it again, "
            "and execution.stop() ends it"
        ) from None
    return execution


def _watch(execution: PipelineExecution) -> str:
    """Print each step when it ends; return the status of the execution when that has ended."""
    told: set[str] = set()
    while True:
        status: str = execution.describe()["PipelineExecutionStatus"]  # before its steps are asked
        for name, state in steps(execution).items():
            if state not in (*RUNS, "Starting") and name not in told:
                told.add(name)
                print(f"{name}: {state}")
        if status not in RUNS:
            return status
        pause()


def steps(execution: PipelineExecution) -> dict[str, str]:
    """Return the status of each step that has begun, in the order in which they began."""
    return {step["StepName"]: step["StepStatus"] for step in reversed(execution.list_steps())}


def find_model_package(execution: PipelineExecution) -> str | None:
    """Return the ARN of the model package that an execution has registered; None without one."""
    for step in execution.list_steps():
        if registered := step.get("Metadata", {}).get("RegisterModel"):
            return str(registered["Arn"])
    return None


# ---- inside -------------------------------------------------------------------------------------
def _pipeline(
    session: PipelineSession, name: str, parameters: list[Any], *, made: list[Any]
) -> Pipeline:
    """Return the SDK's pipeline, compiled once.

    Each time that the SDK compiles it, it uploads the code of the training step under a new name,
    and then SageMaker cannot know that the step has already been run.
    """
    from sagemaker.mlops.workflow.pipeline import Pipeline

    pipeline = Pipeline(name=name, parameters=parameters, steps=made, sagemaker_session=session)
    compiled: str = pipeline.definition()

    def definition() -> str:
        return compiled

    pipeline.definition = definition
    return pipeline


def _make_group(session: Session, name: str) -> None:
    """Make the group of model packages with our tag, so that cleanup() finds it."""
    api = session.client("sagemaker")
    known = api.list_model_package_groups(NameContains=name, MaxResults=100)
    groups = known["ModelPackageGroupSummaryList"]
    if name not in [group["ModelPackageGroupName"] for group in groups]:
        api.create_model_package_group(ModelPackageGroupName=name, Tags=session.tag_list)


def _reason(execution: PipelineExecution) -> str:
    """Return why an execution has not succeeded: its own reason, then that of the step."""
    reasons = [execution.describe().get("FailureReason", "")]
    for step in execution.list_steps():
        if step["StepStatus"] == "Failed":
            reasons.append(f"{step['StepName']}: {step.get('FailureReason', '')}")
    return " ".join(each for each in reasons if each)


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what the SDK says of every pipeline: names come later, and no job runs yet."""
    loggers = [
        logging.getLogger(f"sagemaker.{name}")
        for name in ("core.workflow.utilities", "mlops.workflow.model_step")
    ]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Running within a PipelineSession")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
