"""A pipeline on Vertex AI: build its definition, run it on this machine, send it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from GCP_helpers import spending
from GCP_helpers.costs import PIPELINE_RUN, TASK_MACHINE, estimate_cost, estimate_endpoint
from GCP_helpers.describe import VertexAI
from GCP_helpers.session import Session, current_session, refusals
from GCP_helpers.storage import send
from lesson import ROOT, LessonError, target
from lesson.jobs import sending
from lesson.jobs.code import FOLDER, PREPARES, folder_of
from lesson.jobs.request import Request
from lesson.jobs.runs import Run
from lesson.money import budget, costs
from lesson.money.costs import Estimate
from lesson.services.serving import state_price
from lesson.services.sessions import new_name

if TYPE_CHECKING:
    from google.cloud.aiplatform import PipelineJob

KEPT = Path("runs/pipelines")


@dataclass(frozen=True)
class Definition:
    """A compiled pipeline, and what it is given."""

    file: Path
    table: Path
    args: Mapping[str, Any]
    better_than: float
    machine: str  # of the endpoint
    code: Path  # the folder with train_nn.py
    label: str = ""  # the column to predict of another table than the passengers'


def pipeline(
    args: Mapping[str, Any],
    table: str | Path = "data/titanic_train.csv",
    better_than: float = 0.8,
    *,
    machine: str = "n1-standard-2",
    file: str | Path = KEPT / "titanic.yaml",
    code: str | Path | Run | None = None,
    label: str | None = None,
) -> Definition:
    """Compile the pipeline of pipeline_components.py into a file, and return its definition.

    `args` are flags of train_nn.py, as for train(), without the data, `code` is as for train(), and
    `label` as for prepare(). A model is deployed, to `machine`, if its mean score on the validation
    rows is better than this: the share of right answers, unless `code` defines another score.
    Raises LessonError for a table that is not there.
    """
    from kfp import compiler  # type: ignore[import-untyped]

    sending.check_pipeline(args, table)
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    compiler.Compiler().compile(_titanic(), str(file))
    folder = folder_of(code) if code else FOLDER
    return Definition(
        Path(file), Path(table), dict(args), better_than, machine, folder, label or ""
    )


def _titanic() -> Any:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        from GCP_helpers import pipeline_components
    return pipeline_components.titanic


def run_pipeline(
    definition: Definition, wait: bool = True, dry_run: bool = False, *, caching: bool | None = None
) -> PipelineJob | Request:
    """Send a pipeline to Vertex AI, and wait for its end; returns the SDK's own object.

    With wait=False this returns at once. `caching` is whether a task that has been given the same
    before is left out; None: it is. With dry_run=True this returns the request alone, unsent.
    Raises LessonError for what cannot be sent or would exceed LESSON_BUDGET, and for a pipeline
    that fails.
    """
    from google.cloud.aiplatform import PipelineJob

    session = current_session()
    an_hour = partial(estimate_cost, TASK_MACHINE, region=session.region)
    endpoint = partial(estimate_endpoint, definition.machine, 1, region=session.region)
    _state_price(definition, an_hour, endpoint)
    code, table = _places(definition)
    request = _request(session, definition, code, table=table, caching=caching)
    if dry_run:
        return request
    spent = partial(spending.estimate_spending, VertexAI(session))
    besides = partial(_besides, definition, endpoint)
    budget.require(an_hour, budget.HOUR, spent, also=besides)
    bucket = session.storage.bucket(session.bucket)
    with refusals("uploading the code of the pipeline"):
        for path, name in _files(definition):
            send(bucket.blob(f"{code}/{name}"), path)
        send(bucket.blob(table), definition.table)
    with sending.explain_interrupts(), refusals("sending the pipeline"):
        job = PipelineJob(**request["PipelineJob"])
        job.submit()
    return follow(job) if wait else job


def follow(job: PipelineJob) -> PipelineJob:
    """Wait for the end of a pipeline, and return it; raise LessonError if it fails."""
    with refusals(f"watching {job.display_name}"), sending.explain_interrupts():
        with contextlib.suppress(RuntimeError):  # says less than the tasks do
            job.wait()  # type: ignore[no-untyped-call]
        details = job.task_details
    for task in details:
        if task.state.name == "FAILED" and task.executor_detail:
            raise LessonError(f"{job.display_name}: {task.task_name} failed. {task.error.message}")
    return job


def run_locally(definition: Definition) -> dict[str, Any]:
    """Run the same pipeline on this machine, without any service; returns what it returns.

    kfp runs each component in a process of its own, one after the other. What it prints is in
    runs/pipelines/local.log. It does not evaluate the condition (kfp 2.16), so nothing is deployed.
    """
    from kfp import local

    titanic, printed = _titanic(), io.StringIO()
    code = _lay_out(definition)
    local.init(runner=local.SubprocessRunner(use_venv=False), pipeline_root=str(KEPT / "local"))
    given = _parameters(definition, str(code), str(definition.table.resolve()), place={})
    logging.disable(logging.WARNING)  # about the condition
    with warnings.catch_warnings(action="ignore"), contextlib.redirect_stdout(printed):
        try:
            task = titanic(**given)
        except RuntimeError as problem:
            raise LessonError(f"{problem}; {KEPT / 'local.log'} has more") from None
        finally:
            logging.disable(logging.NOTSET)
            (KEPT / "local.log").write_text(printed.getvalue(), encoding="utf-8")
    outputs: dict[str, Any] = task.outputs
    return outputs


def tasks(job: PipelineJob) -> dict[str, str]:
    """Return the state of each task of a pipeline, in the order in which they began."""
    details = sorted(job.task_details, key=attrgetter("create_time"))
    return {task.task_name: task.state.name for task in details if task.parent_task_id}


# ---- the request ----------------------------------------------------------------------------
def _request(
    session: Session, definition: Definition, code: str, *, table: str, caching: bool | None
) -> Request:
    mounted = f"/gcs/{session.bucket}"  # where a task finds the bucket
    given = _parameters(
        definition, f"{mounted}/{code}", f"{mounted}/{table}", place=_place(session, definition)
    )
    name = new_name("pipeline")
    return Request(
        {
            "PipelineJob": {
                "display_name": name,
                "job_id": name,
                "template_path": str(definition.file),
                "pipeline_root": f"{session.uri}/pipelines",
                "parameter_values": given,
                "enable_caching": caching,
                "labels": session.labels,
            },
            "submit": {},
        }
    )


def _parameters(
    definition: Definition, code: str, table: str, *, place: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the pipeline is given."""
    return {
        "table": table,
        "label": definition.label,
        "code": code,
        "args": dict(definition.args),
        "better_than": definition.better_than,
        "place": dict(place),
    }


def _place(session: Session, definition: Definition) -> dict[str, Any]:
    """Return where and how the model is deployed."""
    return {
        "project": session.project,
        "region": session.region,
        "machine": definition.machine,
        "labels": session.labels,
    }


def _places(definition: Definition) -> tuple[str, str]:
    """Return the names of the code's folder and of the table in the bucket.

    They change with the contents: a task that is given the same names is given the same files.
    """
    code = _digest(*(path for path, _ in _files(definition)))
    return f"pipelines/code-{code}", f"pipelines/table-{_digest(definition.table)}.csv"


def _files(definition: Definition) -> list[tuple[Path, str]]:
    """Return the files of the code, each with its name in the code's folder."""
    scripts = [(path, f"training/{path.name}") for path in sorted(definition.code.glob("*.py"))]
    return [*scripts, *((path, str(path.relative_to(ROOT))) for path in PREPARES)]


def _lay_out(definition: Definition) -> Path:
    """Copy the files of the code into a folder on this machine, as the bucket has them."""
    folder = (KEPT / "code").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    for path, name in _files(definition):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / name)
    return folder


def _digest(*files: Path) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _state_price(
    definition: Definition, an_hour: Callable[[], Estimate], endpoint: Callable[[], Estimate]
) -> None:
    """Say before a pipeline is sent what it costs; its tasks run one after the other."""
    hour = costs.dollars(an_hour().usd_per_hour)
    here = "" if target() == "cloud" else "; here it costs nothing"
    print(
        f"on Vertex AI each task costs about {hour} an hour at list price, and the run"
        f" {costs.dollars(PIPELINE_RUN.usd)}{here}"
    )
    print(f"an endpoint, if the model is better than {definition.better_than}:", end=" ")
    state_price("Vertex AI", endpoint)


def _besides(definition: Definition, endpoint: Callable[[], Estimate]) -> dict[str, float]:
    """Return what a run costs besides its tasks: its fee, and the endpoint that it may deploy."""
    a_day = budget.DAY * endpoint().usd_per_hour
    return {
        "the run's fee": PIPELINE_RUN.usd,
        f"the first day of an endpoint on {definition.machine}": a_day,
    }
