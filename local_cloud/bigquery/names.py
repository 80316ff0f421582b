"""Names that requests give."""

from __future__ import annotations

from local_cloud.bigquery.call import Document
from local_cloud.bigquery.catalog import Name
from local_cloud.bigquery.errors import required


def reference_of(project: str, given: Document) -> Name:
    """The name in a tableReference."""
    for key in ("datasetId", "tableId"):
        if not given.get(key):
            raise required(key)
    return Name(given.get("projectId") or project, given["datasetId"], given["tableId"])
