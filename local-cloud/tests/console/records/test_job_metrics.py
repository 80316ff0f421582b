"""metrics.json of a job, which may have written anything there."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from local_cloud.console.records import job_metrics
from tests import bombs
from tests.engine import archives

GOOD = {"replicas": [{"rank": 0, "bytes": {"weights": 10, "gradients": 5}}]}


def read(path: Path) -> dict[str, Any]:
    return job_metrics.read(path, path.name, size=path.stat().st_size, generation=1)


def test_metrics_are_read_from_a_file_and_from_the_model(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text(json.dumps(GOOD))
    member = archives.file("./metrics.json", json.dumps(GOOD).encode())
    archives.tar(tmp_path / "model.tar.gz", archives.file("model.pt"), member)
    for name in ("metrics.json", "model.tar.gz"):
        assert job_metrics.memory(read(tmp_path / name)) == {"0": 15}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.json", bombs.nested_json(100_000)),
        ("metrics.json", b"[" + b"1," * job_metrics.LARGEST + b"1]"),
        ("metrics.json", b"\xff\xfe"),
        ("model.tar.gz", bombs.tar(tarfile.XHDTYPE, 1 << 30)),
        ("model.tar.gz", bombs.tar(tarfile.REGTYPE, 1 << 33)),
        ("model.tar.gz", bombs.tar(tarfile.REGTYPE, 1 << 30, "metrics.json")),
        ("model.tar.gz", b"no archive"),
    ],
)
def test_what_cannot_be_read_says_nothing(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path / name) == {}


@pytest.mark.parametrize(
    "replicas", [None, "many", [1, None], [{"rank": 0, "bytes": {"weights": 10**400}}], [{}]]
)
def test_what_is_no_number_of_bytes_is_left_out(replicas: Any) -> None:
    assert job_metrics.memory({"replicas": replicas}) == {}
