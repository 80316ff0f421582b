"""Names that requests give."""

from __future__ import annotations

import re

from local_cloud.google.bigquery.api.errors import invalid, missing_parameter, no_such_dataset
from local_cloud.google.bigquery.catalog.catalog import Document, Name

_DATASET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{0,1023}")


def check_dataset_id(name: str) -> None:
    """Raise Problem for a name that a new dataset cannot have; a hidden one begins with _."""
    if not _DATASET.fullmatch(name):
        raise invalid(
            f'Invalid dataset ID "{name}". Dataset IDs must be alphanumeric (plus'
            " underscores) and must be at most 1024 characters long."
        )


def reference_of(project: str, given: Document) -> Name:
    """Return the name in a tableReference."""
    for key in ("datasetId", "tableId"):
        if not given.get(key):
            raise missing_parameter(key)
    return Name(given.get("projectId") or project, given["datasetId"], given["tableId"])


def target_of(project: str, given: Document) -> Name:
    """Return the name of a table that a job writes: results are read with it, and not written."""
    target = reference_of(project, given)
    if target.dataset.startswith("_"):
        raise no_such_dataset(target.project, target.dataset)
    return target
