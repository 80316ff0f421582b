"""TensorBoard in a notebook: reached by its secret address alone, and gone with its owner."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import psutil
import pytest

from lesson import LessonError
from lesson.show.boards import TensorBoard


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TensorBoard]:
    """A TensorBoard on a folder without logs."""
    board = TensorBoard(tmp_path_factory.mktemp("logs"))
    yield board
    board.stop()


def test_it_answers_under_its_address_alone(board: TensorBoard) -> None:
    parts = urlsplit(board.url)
    assert parts.hostname == "127.0.0.1"
    assert json.loads(urlopen(f"{board.url}data/environment").read())["version"]
    for path in ("/", "/data/runs"):
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"http://127.0.0.1:{parts.port}{path}")


def test_it_listens_on_this_machine_only_and_starts_no_other_process(board: TensorBoard) -> None:
    process = psutil.Process(board._process.pid)
    listening = [each for each in process.net_connections() if each.status == "LISTEN"]
    assert {each.laddr.ip for each in listening} == {"127.0.0.1"}
    assert not process.children()
    assert urlsplit(board.url).path.strip("/") not in " ".join(process.cmdline())  # which all read


def test_a_cell_shows_it_in_a_frame(board: TensorBoard, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f'<iframe src="{board.url}"' in board._repr_html_()
    port, path = urlsplit(board.url).port, urlsplit(board.url).path
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")
    assert board.browser_url() == f"/user/ada/proxy/{port}{path}"
    monkeypatch.setenv("TENSORBOARD_PROXY_URL", "/jupyterlab/default/proxy/%PORT%/")
    assert board.browser_url() == f"/jupyterlab/default/proxy/{port}{path}"
    assert f'<iframe src="/jupyterlab/default/proxy/{port}{path}"' in board._repr_html_()


def test_it_ends_with_the_process_that_started_it_however_that_ends(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from lesson.show.boards import TensorBoard; import os, sys\n"
            f"board = TensorBoard({str(tmp_path)!r})\n"
            "print(board._process.pid, flush=True)\n"
            "sys.stdin.read()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout
    child = psutil.Process(int(owner.stdout.readline()))
    owner.kill()
    owner.communicate()
    child.wait(20)


def test_stop_ends_it_and_may_be_called_twice(board: TensorBoard, tmp_path: Path) -> None:
    other = TensorBoard(tmp_path)
    other.stop()
    other.stop()
    assert other._process.returncode == 0  # by itself, not killed
    assert board._process.poll() is None  # that is another one


def test_a_folder_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(LessonError, match="no such folder; train with --tensorboard_dir first"):
        TensorBoard(tmp_path / "logs")
