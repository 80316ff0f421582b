"""Files for jobs and datasets of Vertex AI that would fill the server's memory."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from local_cloud.automl import table_parts
from local_cloud.automl.splits import Split
from local_cloud.bounded import files, process
from local_cloud.bounded.errors import DamagedFile, OverLimit
from local_cloud.bounded.limits import Limits
from local_cloud.engine.spec import EngineError
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.datasets import import_lists
from local_cloud.google.vertex.endpoints import batch_files
from local_cloud.google.vertex.jobs import tracked_jobs
from local_cloud.google.vertex.pipelines import container, inputs, placeholders, spec
from local_cloud.google.vertex.tracking import event_files
from local_cloud.google.vertex.tuning import metrics
from tests import bombs


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


LONG_LINE = b"1" * (files.LONGEST_LINE + 1)
LONG_ROW = b"a\n" + b'"\n",' * files.LONGEST_ROW


@pytest.mark.parametrize(("kind", "content"), [("jsonl", LONG_LINE), ("csv", LONG_ROW)])
def test_a_line_of_a_batch_prediction_has_a_limit(
    tmp_path: Path, kind: str, content: bytes
) -> None:
    paths = [written(tmp_path / f"input.{kind}", content)]
    for read in (
        batch_files.count,
        lambda paths, kind: list(batch_files.chunks(paths, kind, {}, size=8)),
    ):
        with pytest.raises(EngineError, match=rf"input\.{kind} cannot be read: a .* is larger"):
            read(paths, kind)


def test_long_instances_come_in_small_chunks(tmp_path: Path) -> None:
    line = json.dumps(["x" * (1 << 20)]).encode() + b"\n"
    chunks = batch_files.chunks([written(tmp_path / "a.jsonl", line * 5)], "jsonl", {}, size=64)
    assert [len(part) for part in chunks] == [2, 2, 1]


@pytest.mark.parametrize(
    ("uri", "content"),
    [
        ("gs://b/a.csv", b"gs://b/x," + b"y," * import_lists.LONGEST),
        ("gs://b/a.jsonl", b"[" * (import_lists.LONGEST + 1)),
        ("gs://b/a.jsonl", bombs.nested_json(10_000)),
        ("gs://b/a.jsonl", b'{"imageGcsUri": "\\ud800"}'),
    ],
)
def test_a_line_of_an_import_has_a_limit(tmp_path: Path, uri: str, content: bytes) -> None:
    with pytest.raises(ApiError, match=r"^gs://b/a"):
        list(import_lists.lines(written(tmp_path / "list", content), uri))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (bombs.csv_line(1 << 30), "a.csv.gz needs more memory than there is"),
        (b"\x1f\x8b\x08" + bytes(20), "a.csv.gz is not a CSV file with a header: "),
    ],
    ids=["bomb", "damaged"],
)
def test_a_table_that_unpacks_to_gigabytes_has_no_parts(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = written(tmp_path / "a.csv.gz", content)
    split = asdict(Split())
    with pytest.raises(DamagedFile, match=said):
        limits = Limits(memory=256 << 20)
        paths, folder = [str(path)], str(tmp_path)
        process.call(table_parts.write, paths, split, limits=limits, seed=0, folder=folder)


def test_reports_of_a_trial_are_read_from_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "MOST", 2000)
    lines = [{"loss": value, "global_step": value} for value in range(1000)]
    text = "\n".join(map(json.dumps, lines)) + "\n" + "[" * 1500 + "\n" + json.dumps({"loss": 7})
    reports = metrics.reports(written(tmp_path / "reports", text.encode()))
    assert reports[-1].metrics == {"loss": 7} and 1 < len(reports) < 30


def event_file(length: int) -> bytes:
    """An event file that claims a record of so many bytes, with the checksum that this needs."""
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import crc32c

    head = struct.pack("<Q", length)
    crc = crc32c(head)
    masked = ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF
    return head + struct.pack("<L", masked) + bytes(100)


@pytest.mark.parametrize("length", [1 << 34, 1 << 62])
def test_an_event_file_that_claims_gigabytes_has_no_curves(tmp_path: Path, length: int) -> None:
    path = written(tmp_path / "events.out.tfevents.1", event_file(length))
    try:
        curves = process.call(event_files.read, {"run": [str(path)]}, limits=tracked_jobs.EVENTS)
    except OverLimit:
        curves = []
    assert curves == []


DEEP = bombs.nested_json(100_000).decode()
LIST = {"parameterType": "LIST"}


@pytest.mark.parametrize(
    ("read", "refused"),
    [
        (lambda: spec.parse(DEEP, LIST, "output a"), ApiError),
        (
            lambda: inputs.items({"parameterIterator": {"items": {"raw": DEEP}}}, {}),
            inputs.Unresolved,
        ),
        (
            lambda: inputs._select(
                DEEP, {"parameterExpressionSelector": 'parseJson(string_value)["a"]'}, "a"
            ),
            inputs.Unresolved,
        ),
    ],
)
def test_a_tasks_output_that_is_nested_too_deeply_fails_the_task(
    read: Callable[[], Any], refused: type[Exception]
) -> None:
    with pytest.raises(refused):
        read()


@pytest.mark.parametrize("value", [DEEP, "NaN", '["\\ud800"]'])
def test_a_tasks_output_that_no_answer_could_hold_is_refused(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be recorded, and every later look at the pipeline would end in an error."""
    output = '{"parameterValues": {"a": VALUE}}'.replace("VALUE", value)
    monkeypatch.setattr(container, "_text", lambda *_: output)
    with pytest.raises(ApiError, match="is not the JSON of an executor's output"):
        container._json(None, "gs://b/executor_output.json", b"")  # type: ignore[arg-type]
    for kind in ("LIST", "NUMBER_DOUBLE"):
        with pytest.raises(ApiError):
            spec.parse(value, {"parameterType": kind}, "output a")


def test_a_word_that_is_nested_too_deeply_is_a_word() -> None:
    word = '{"Concat":' + DEEP
    assert placeholders._structures(word, {}) == [word]
