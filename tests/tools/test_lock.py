"""What uv resolves becomes requirements.txt and hashes.txt."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.lock import __main__ as lock

RESOLVED = r"""anyio==4.16.0 \
    --hash=sha256:aa \
    --hash=sha256:bb
appnope==1.0.0 ; sys_platform == 'darwin' \
    --hash=sha256:cc
nvidia-cublas==13.1 ; sys_platform == 'linux' \
    --hash=sha256:dd
torch==2.13.0+cpu \
    --hash=sha256:ee
triton==3.7.1 ; sys_platform == 'linux' \
    --hash=sha256:ff
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the lock's files in a folder of the test; the locked versions are older ones."""
    monkeypatch.setattr(lock, "LOCK", tmp_path / "requirements.txt")
    monkeypatch.setattr(lock, "HASHES", tmp_path / "hashes.txt")
    lock.LOCK.write_text("anyio==4.15.0\n")


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in: it keeps what it was given, and writes RESOLVED to the file that it is told."""
    program = tmp_path / "uv"
    (tmp_path / "resolved").write_text(RESOLVED)
    program.write_text(
        f'#!/bin/sh\ncd "{tmp_path}"\necho "$*" > words\n'
        'while [ "$1" != --output-file ]; do shift; done\n'
        'cp "$2" preferred; cp resolved "$2"\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(lock, "find_uv", lambda: program)
    return program


def test_versions_are_without_builds_and_hashes_without_torch(
    uv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["lock"])
    lock.main()
    assert lock.LOCK.read_text().splitlines()[1:] == [
        "anyio==4.16.0",
        "appnope==1.0.0 ; sys_platform == 'darwin'",
        "torch==2.13.0",
    ]
    assert lock.HASHES.read_text().splitlines()[1:] == RESOLVED.splitlines()[:5]
    assert (uv.parent / "preferred").read_text() == "anyio==4.15.0\n"
    assert "--upgrade" not in (uv.parent / "words").read_text()


def test_the_newest_versions_are_asked_for(uv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["lock", "--upgrade"])
    lock.main()
    assert "--upgrade" in (uv.parent / "words").read_text()


def test_without_uv_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["lock"])
    monkeypatch.setattr(lock, "find_uv", lambda: None)
    with pytest.raises(SystemExit, match="make setup"):
        lock.main()
