"""The files of a batch prediction: instances in, predictions and errors out.

Formats: Vertex AI's page "Get batch inferences from a custom trained model" (read 2026). A CSV
file begins with the columns' names; an instance is the list of a row's values.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from local_cloud.bounded import files
from local_cloud.bounded.errors import OverLimit
from local_cloud.engine.spec import EngineError
from local_cloud.json_types import Json
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects
from local_cloud.store.wildcards import matches

MOST_OF_A_CHUNK = 2 << 20  # characters, unless one instance has more
LARGEST_PICTURE = 8 << 20  # bytes


@dataclass(frozen=True)
class Instance:
    """One instance: as it was read, what the model is sent, and what is wrong with it."""

    read: Any
    sent: Any
    key: Any = None
    problem: str = ""
    row: Mapping[str, str] | None = None  # of a CSV file: the texts of its columns
    length: int = 0  # characters that were read


def sources(objects: Objects, uris: Iterable[str]) -> list[Path]:
    """Return the files of these URIs, which may hold wildcards.

    Raise EngineError if one names nothing.
    """
    paths = []
    for uri in uris:
        bucket, _, pattern = uri.removeprefix("gs://").partition("/")
        prefix = pattern.split("*")[0]
        names = [name for name in objects.names(bucket, prefix) if matches(name, pattern)]
        if not names:
            raise EngineError(f"There are no files at {uri}.")
        paths += [objects.get(bucket, name).path for name in names]
    return paths


def count(paths: Iterable[Path], kind: str) -> int:
    """Return how many instances there are."""
    total = 0
    for path in paths:
        with _open(path) as file:
            if kind == "csv":
                total += max(0, sum(1 for row in files.rows(file) if row) - 1)
            else:
                total += sum(1 for line in files.lines(file) if line.strip())
    return total


def chunks(
    paths: Iterable[Path], kind: str, config: Json, *, size: int
) -> Iterator[list[Instance]]:
    """Yield the instances, so many at a time or fewer long ones.

    Each may be taken in another thread.
    """
    read = _csv if kind == "csv" else _jsonl
    for path in paths:
        with _open(path) as file:
            part: list[Instance] = []
            for instance in read(file, config):
                part.append(instance)
                if len(part) == size or sum(each.length for each in part) > MOST_OF_A_CHUNK:
                    yield part
                    part = []
            if part:
                yield part


@contextmanager
def _open(path: Path) -> Iterator[TextIO]:
    """Yield a file of instances; EngineError if somebody reads more of a line than there may be."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except (OverLimit, csv.Error) as problem:
        raise EngineError(f"{path.name} cannot be read: {problem}.") from None


def with_pictures(parts: Iterable[list[Instance]], objects: Objects) -> Iterator[list[Instance]]:
    """Yield the instances with a picture's bytes in base64 in place of its gs:// URI.

    Source: types/image_classification.py of the SDK's schema.predict.instance, and Vertex AI's page
    "Get inferences from an image classification model" (read 2026): online the content is base64,
    in a batch it is a URI.
    """
    for part in parts:
        yield [_with_picture(each, objects) for each in part]


def _with_picture(instance: Instance, objects: Objects) -> Instance:
    content = instance.sent.get("content") if isinstance(instance.sent, dict) else None
    if not (isinstance(content, str) and content.startswith("gs://")):
        return instance
    bucket, _, name = content.removeprefix("gs://").partition("/")
    try:
        picture = files.read(objects.get(bucket, name).path, LARGEST_PICTURE)
    except (StoreError, OverLimit) as problem:
        return replace(instance, problem=str(problem))
    return replace(instance, sent=instance.sent | {"content": base64.b64encode(picture).decode()})


def _csv(file: TextIO, config: Json) -> Iterator[Instance]:
    rows = (row for row in files.rows(file) if row)
    columns = tuple(next(rows, []))
    key_field = config.get("keyField", "")
    if key_field and key_field not in columns:
        known = ", ".join(columns)
        raise EngineError(f"instanceConfig.keyField: there is no column {key_field!r}: {known}.")
    for row in rows:
        values = dict(zip(columns, map(_value, row), strict=False))
        texts = dict(zip(columns, row, strict=False))
        key = values.get(key_field)
        sent = [values[name] for name in _fields(config, columns) if name in values]
        problem = ""
        if len(row) != len(columns):
            problem = f"The row has {len(row)} values, and the header {len(columns)}."
        yield Instance(values, sent, key, problem, texts, sum(map(len, row)))


def _jsonl(file: TextIO, config: Json) -> Iterator[Instance]:
    for line in files.lines(file):
        if not line.strip():
            continue
        length = len(line)
        try:
            read = json.loads(line)
        except (ValueError, RecursionError) as problem:
            told = f"The line is not JSON: {problem}"
            yield Instance(line.rstrip("\n"), None, problem=told, length=length)
            continue
        if not isinstance(read, dict):
            yield Instance(read, read, length=length)
            continue
        fields = [name for name in _fields(config, tuple(read)) if name in read]
        sent: Any = {name: read[name] for name in fields}
        if config.get("instanceType") == "array":
            sent = list(sent.values())
        yield Instance(read, sent, read.get(config.get("keyField", "")), length=length)


def _fields(config: Json, columns: tuple[str, ...]) -> Iterable[str]:
    """Return the fields that the model is sent, in order."""
    left_out = {config.get("keyField"), *config.get("excludedFields", [])}
    return config.get("includedFields") or [name for name in columns if name not in left_out]


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text or None


class Output:
    """The two files that a job writes: predictions, and the instances that have none."""

    def __init__(self, objects: Objects, uri: str, kind: str, *, key_field: str = "") -> None:
        """uri: of the folder; kind: jsonl or csv; key_field: what is written of an instance."""
        self._objects, self._kind, self._key_field = objects, kind, key_field
        self._bucket, _, self._folder = uri.removeprefix("gs://").partition("/")
        self._succeeded = self._failed = 0
        self._files: dict[str, tuple[Path, TextIO]] = {}

    def __enter__(self) -> Output:
        """Open the files."""
        self._objects.bucket(self._bucket)  # there is one
        for name in ("results", "errors_stats"):
            path = self._objects.upload_file()
            file = io.TextIOWrapper(self._objects.space.open(path), encoding="utf-8", newline="")
            self._files[name] = path, file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        """Close them; what is not finished is removed."""
        for path, file in self._files.values():
            file.close()
            path.unlink(missing_ok=True)

    def write(self, scored: Iterable[tuple[Instance, Any, str]]) -> None:
        """Write some instances, each with its prediction or what is wrong with it."""
        for instance, prediction, problem in scored:
            told = {"instance": instance.read} if instance.key is None else {"key": instance.key}
            if problem:
                self._failed += 1
                error = {"code": 3, "message": problem}
                self._line("errors_stats", json.dumps({**told, "error": error}))
            elif self._kind == "csv":
                self._row(instance, prediction)
            else:
                self._succeeded += 1
                self._line("results", json.dumps({**told, "prediction": prediction}))

    def _row(self, instance: Instance, prediction: Any) -> None:
        named = prediction if isinstance(prediction, dict) else {"prediction": prediction}
        given = self._cells_of(instance)
        if not self._succeeded:
            self._cells([*given, *named])
        self._succeeded += 1
        self._cells([*given.values(), *named.values()])

    def _cells_of(self, instance: Instance) -> Mapping[str, Any]:
        """Return the columns of an instance: its own, as they were read, or its key alone."""
        if self._key_field:
            row = instance.row or {}
            return {"key": row.get(self._key_field, instance.key)}
        if instance.row is not None:
            return instance.row
        return instance.read if isinstance(instance.read, dict) else {"instance": instance.read}

    def _cells(self, cells: list[Any]) -> None:
        text = io.StringIO()
        plain = [json.dumps(each) if isinstance(each, list | dict) else each for each in cells]
        csv.writer(text, lineterminator="").writerow(plain)
        self._line("results", text.getvalue())

    def _line(self, name: str, text: str) -> None:
        self._files[name][1].write(f"{text}\n")

    def statistics(self, total: int) -> Json:
        """Return how far the job is: CompletionStats."""
        left = total - self._succeeded - self._failed
        counts = {
            "successfulCount": self._succeeded,
            "failedCount": self._failed,
            "incompleteCount": left,
        }
        return {name: str(count) for name, count in counts.items()}

    def finish(self) -> None:
        """Make the files objects of the bucket."""
        for name, (path, file) in self._files.items():
            file.close()
            suffix = ".csv" if self._kind == "csv" and name == "results" else ""
            target = f"prediction.{name}-00000-of-00001{suffix}"
            self._objects.put(self._bucket, f"{self._folder}/{target}".lstrip("/"), path)
