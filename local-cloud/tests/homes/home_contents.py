"""What a small home holds: each part is made through the real SDKs, and read back through them.

    python home_contents.py make 2026-11-24     # by the version of that day
    python home_contents.py read 2026-11-24     # by that version or a later one: print it as JSON

It runs with the `local_cloud` that PYTHONPATH names, so it imports nothing else of the project.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import on_amazon
import on_google

import local_cloud


class Part(NamedTuple):
    """Something that is kept, since the version of a day."""

    since: str
    make: Callable[[], None] | None  # None: another part has made it
    read: Callable[[], Any]


def read_bill() -> Any:
    """What has ended: its price is a fact of the later version, and what goes on costs more."""
    rows = local_cloud.bill().document()["rows"]
    fields = ("cloud", "what", "on", "since", "until", "quantity")
    ended = [[row[field] for field in fields] for row in rows if row["until"] is not None]
    return sorted(ended, key=str)


PARTS = {
    "bill": Part("2026-11-24", None, read_bill),  # first: to read the tables is billed
    "Cloud Storage": Part("2026-11-20", on_google.make_objects, on_google.read_objects),
    "S3": Part("2026-11-20", on_amazon.make_objects, on_amazon.read_objects),
    "custom jobs": Part("2026-11-20", on_google.make_jobs, on_google.read_jobs),
    "logs of custom jobs": Part("2026-11-23", None, on_google.read_logs),
    "tuning on Vertex AI": Part("2026-11-21", on_google.make_tuning, on_google.read_tuning),
    "models of Vertex AI": Part("2026-11-22", on_google.make_models, on_google.read_models),
    "experiments": Part("2026-11-22", on_google.make_experiment, on_google.read_experiment),
    "training jobs": Part("2026-11-21", on_amazon.make_jobs, on_amazon.read_jobs),
    "tuning on SageMaker": Part("2026-11-21", on_amazon.make_tuning, on_amazon.read_tuning),
    "models of SageMaker": Part("2026-11-23", on_amazon.make_models, on_amazon.read_models),
    "notebook instances": Part("2026-11-22", on_amazon.make_notebook, on_amazon.read_notebook),
    "endpoints": Part("2026-11-23", on_google.make_endpoint, on_google.read_endpoint),
    "pipelines of Vertex AI": Part("2026-11-24", on_google.make_pipeline, on_google.read_pipeline),
    "pipelines of SageMaker": Part("2026-11-24", on_amazon.make_pipeline, on_amazon.read_pipeline),
    "BigQuery": Part("2026-11-24", on_google.make_tables, on_google.read_tables),
    "Vizier": Part("2026-11-27", on_google.make_vizier, on_google.read_vizier),
    "trials of SageMaker": Part("2026-11-27", on_amazon.make_experiment, on_amazon.read_experiment),
}


def main(command: str, day: str) -> None:
    local_cloud.activate()
    on_google.set_up()
    parts = {name: part for name, part in PARTS.items() if part.since <= day}
    if command == "read":
        readings = {name: part.read() for name, part in parts.items()}
        print(json.dumps(readings))  # the last line: the SDKs print others
        return
    for part in parts.values():
        if part.make:
            part.make()


if __name__ == "__main__":
    main(*sys.argv[1:])
