"""Resources that are a document: models, data sets, batch predictions and the like.

A kind of resource is one line of KINDS: where its documents are, and what its table shows of them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from local_cloud.console.site import words
from local_cloud.console.site.tables import Cell
from local_cloud.json_types import Json
from local_cloud.store.records import Records


@dataclass(frozen=True)
class Kind:
    """A kind of resource."""

    id: str  # in the address of its pages
    page: str  # of the menu
    title: str
    records: str  # their kind
    noun: str = ""  # what names of documents hold, where several kinds share that
    title_of: str = "displayName"
    state_of: str = ""
    made: str = "createTime"
    empty: str = ""
    more: Callable[[Json], str] = lambda _: ""  # small print


def _version(document: Json) -> str:
    aliases = ", ".join(document.get("versionAliases", []))
    return f"version {document.get('versionId', '1')}" + (f" ({aliases})" if aliases else "")


def _package(document: Json) -> str:
    version = document.get("ModelPackageVersion")
    approval = document.get("ModelApprovalStatus", "")
    return f"version {version}, {approval}" if version else ""


KINDS = (
    Kind(
        "vertex-models",
        "models",
        "Vertex AI Model Registry",
        "vertex",
        "/models/",
        empty="No model yet. A training job uploads one if its request names a serving image, and"
        " aiplatform.Model.upload() uploads one by hand.",
        more=_version,
    ),
    Kind(
        "sagemaker-models",
        "models",
        "SageMaker models",
        "sagemaker-model",
        title_of="ModelName",
        made="CreationTime",
        empty="No model yet. create_model() makes one.",
    ),
    Kind(
        "model-packages",
        "models",
        "SageMaker Model Registry",
        "model-package",
        title_of="ModelPackageGroupName",
        made="CreationTime",
        empty="No version is registered yet.",
        more=_package,
    ),
    Kind(
        "batch-predictions",
        "batches",
        "Vertex AI batch predictions",
        "vertex",
        "/batchPredictionJobs/",
        state_of="state",
        empty="No batch prediction yet. Model.batch_predict() sends one.",
    ),
    Kind(
        "transform-jobs",
        "batches",
        "SageMaker batch transforms",
        "transform-job",
        title_of="TransformJobName",
        state_of="TransformJobStatus",
        made="CreationTime",
        empty="No batch transform yet. create_transform_job() sends one.",
    ),
    Kind(
        "datasets",
        "datasets",
        "Vertex AI datasets",
        "vertex-datasets",
        empty="No dataset yet. TabularDataset.create() makes one from a table, for AutoML.",
    ),
)
OF = {kind.id: kind for kind in KINDS}
CLASSES = {
    "SUCCEEDED": "good",
    "SKIPPED": "good",
    "EXECUTING": "running",
    "NOTTRIGGERED": "off",
    "COMPLETED": "good",
    "COMPLETE": "good",
    "INSERVICE": "good",
    "FAILED": "bad",
    "CANCELLED": "off",
    "STOPPED": "off",
    "RUNNING": "running",
    "INPROGRESS": "running",
}


def state(word: str) -> Cell:
    """Return a service's own word for a state, as a chip."""
    short = word.removeprefix("JOB_STATE_").removeprefix("PIPELINE_STATE_")
    text = short.replace("_", " ").capitalize() if short.isupper() else short
    return Cell(text, chip=CLASSES.get(short.upper().replace("_", ""), "waiting"))


def seconds(value: Any) -> float | None:
    """Return a time of a document.

    The document has seconds since the epoch, or a text as Google's services do.
    """
    if isinstance(value, int | float):
        return float(value)
    try:
        return datetime.datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return None


def documents(records: Records, kind: Kind) -> Iterator[tuple[str, Json]]:
    """Yield the names and documents of a kind."""
    for name, document in records.list(kind.records):
        if kind.noun in name and "/operations/" not in name:
            yield name, document


def link(kind: Kind, name: str) -> str:
    """Return the page of a resource, relative to the console's root."""
    return "resource?" + urlencode({"kind": kind.id, "name": name})


def title(kind: Kind, name: str, document: Json) -> str:
    """Return the name that its maker gave it."""
    return str(document.get(kind.title_of) or words.short(name))


def row(kind: Kind, name: str, document: Json) -> list[Cell]:
    """Return a resource's row in the table of its kind."""
    called = title(kind, name, document)
    note = kind.more(document) or words.short(name)
    first = Cell(called, link(kind, name), note if note != called else "")
    cells = [state(str(document.get(kind.state_of, "")))] if kind.state_of else []
    return [first, *cells, Cell(moment=seconds(document.get(kind.made)))]
