"""The lists from which a dataset imports pictures, line by line: CSV or JSON Lines.

Formats: Vertex AI's page "Prepare image training data for classification" (read 2026).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local_cloud.bounded import files
from local_cloud.bounded.errors import OverLimit
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources.schema import require
from local_cloud.http import bodies
from local_cloud.json_types import Json

USE = "aiplatform.googleapis.com/ml_use"
USES = {"training": "training", "train": "training", "validation": "validation"}
LONGEST = 1 << 20  # bytes of a line
USES |= {"validate": "validation", "test": "test", "unassigned": ""}


def lines(path: Path, uri: str) -> Iterator[tuple[int, Json]]:
    """Yield the number of each line, and its picture: uri, classes and labels; or an ApiError."""
    try:
        yield from _json_lines(path, uri) if uri.endswith(".jsonl") else _csv_lines(path, uri)
    except OverLimit as problem:
        raise ApiError("INVALID_ARGUMENT", f"{uri} cannot be imported: {problem}") from None


def _csv_lines(path: Path, uri: str) -> Iterator[tuple[int, Json]]:
    """Yield lines `[ML_USE,]gs://…,label,…`, with their numbers."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(files.rows(file, LONGEST), 1):
                cells = [cell.strip() for cell in row]
                if not any(cells):
                    continue
                use = ""
                if not cells[0].startswith("gs://"):
                    first = cells.pop(0)
                    require(
                        first.lower() in USES and cells,
                        f"{uri}, line {number}: {first!r} is neither gs://BUCKET/NAME nor training,"
                        " validation, test or unassigned before one",
                    )
                    use = USES[first.lower()]
                classes = [cell for cell in cells[1:] if cell]
                labels = {USE: use} if use else {}
                yield number, {"uri": cells[0], "classes": classes, "labels": labels}
    except (UnicodeDecodeError, csv.Error) as problem:
        raise ApiError("INVALID_ARGUMENT", f"{uri} is not a CSV file: {problem}") from None


def _json_lines(path: Path, uri: str) -> Iterator[tuple[int, Json]]:
    """Yield lines of JSON, with their numbers."""
    with path.open("rb") as file:
        for number, line in enumerate(files.lines(file, LONGEST), 1):
            if line.strip():
                yield number, _picture(line, f"{uri}, line {number}")


def _picture(line: bytes, where: str) -> Json:
    """Return the picture of a line of JSON."""
    try:
        given = bodies.parse(line)
        one = given.get("classificationAnnotation")
        marks: list[Any] = given.get("classificationAnnotations") or ([one] if one else [])
        own = given.get("dataItemResourceLabels", {})
        labels = {str(key): str(value) for key, value in own.items()}
        picture = {
            "uri": str(given["imageGcsUri"]),
            "classes": [str(mark["displayName"]) for mark in marks],
        }
    except (ValueError, LookupError, AttributeError, TypeError):
        raise ApiError(
            "INVALID_ARGUMENT",
            f"{where}: an object with imageGcsUri, and with"
            " classificationAnnotation {displayName}, is needed",
        ) from None
    use = labels.get(USE, "")
    require(use.lower() in ("", *USES), f"{where}: {USE} is {use!r}")
    return picture | {"labels": labels | ({USE: USES[use.lower()]} if use else {})}
