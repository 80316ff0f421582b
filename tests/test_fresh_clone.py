"""What a newcomer does: clone, `make lesson`, `make lab`. Slow: it installs everything."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import websocket

from tools.environment.kernel import KERNEL
from tools.environment.make import package_index

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def make(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["make", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clone of what is committed, in a folder whose name has a blank, with its local cloud."""
    folder = tmp_path_factory.mktemp("new") / "my lesson"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCAL_CLOUD_HOME", str(tmp_path_factory.mktemp("clone's state")))
        yield folder
        subprocess.run([folder / ".venv/bin/python", "-m", "local_cloud", "stop"], cwd=folder)


@pytest.fixture(scope="module")
def first_run(clone: Path) -> str:
    return make(clone, "lesson")


def test_one_command_ends_with_the_table_and_the_picture(clone: Path, first_run: str) -> None:
    assert "Making .venv" in first_run
    table, ending = first_run.split("\n\n")[-2:]
    assert table.splitlines()[0].split()[:3] == ["place", "machine", "replicas"]
    assert len(table.splitlines()) == 6  # this machine; one and two machines of either cloud
    pictures = [line.rpartition(": ")[2] for line in ending.splitlines() if line.endswith(".png")]
    assert len(pictures) == 2
    assert all((clone / picture).is_file() for picture in pictures)


def test_a_second_run_installs_nothing_and_git_sees_no_change(clone: Path, first_run: str) -> None:
    assert "Making .venv" in first_run
    second = make(clone, "lesson")
    assert not re.search("Making .venv|Collecting|Resolved", second)
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""


@pytest.mark.skipif(
    package_index.has_nvidia_card(), reason="there the libraries for NVIDIA's cards are needed"
)
def test_no_library_for_a_card_that_is_not_here(clone: Path, first_run: str) -> None:
    assert "Making .venv" in first_run
    packages = clone.glob(".venv/lib/python3*/site-packages/*")
    assert not [each.name for each in packages if re.match("nvidia|triton", each.name)]


def test_the_notebooks_run_in_a_folder_with_a_blank(clone: Path, first_run: str) -> None:
    assert "Making .venv" in first_run
    flags = ["-p", "tests.shown_outputs", "--nbval", "--nbval-sanitize-with", "tests/nbval.cfg"]
    books = ["02-train-locally", "04-vertex-first-job", "07-sagemaker-first-job"]  # a job each
    done = subprocess.run(
        [
            clone / ".venv/bin/python",
            "-m",
            "pytest",
            "-q",
            *flags,
            *(f"notebooks/{book}.ipynb" for book in books),
        ],
        cwd=clone,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.fixture(scope="module")
def lab(clone: Path, first_run: str) -> Iterator[str]:
    """The address of `make lab`, which opens no browser here; its secret is `secret`."""
    assert first_run
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = f"--no-browser --port={port} --IdentityProvider.token=secret"
    if os.geteuid() == 0:
        flags += " --allow-root"
    with subprocess.Popen(
        ["make", "lab", f"ARGS={flags}"],
        cwd=clone,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as server:
        try:
            yield wait_for(f"http://127.0.0.1:{port}")
        finally:
            os.killpg(server.pid, signal.SIGKILL)


def wait_for(address: str) -> str:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{address}/api").close()
        except urllib.error.URLError:
            time.sleep(0.1)
        else:
            return address
    raise TimeoutError(f"{address} did not answer within 30 s")


def ask(address: str, **body: Any) -> Any:
    """The JSON answer to a GET or, with a body, to a POST."""
    request = urllib.request.Request(
        f"{address}?token=secret", data=json.dumps(body).encode() if body else None
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def printed_by_kernel(lab: str, code: str) -> str:
    """Start the notebooks' kernel, run the code in it, and return what it printed first."""
    kernel = ask(f"{lab}/api/kernels", path="work", name=KERNEL["name"])["id"]
    address = f"{lab.replace('http', 'ws')}/api/kernels/{kernel}/channels?token=secret"
    channel = websocket.create_connection(address, timeout=60)
    header = {"msg_id": "1", "msg_type": "execute_request", "session": "s", "username": ""}
    content = {"code": code, "silent": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
    channel.send(json.dumps({**message, "channel": "shell"}))
    try:
        while (answer := json.loads(channel.recv()))["msg_type"] != "stream":
            assert answer["msg_type"] != "error", answer["content"]
    finally:
        channel.close()
    return str(answer["content"]["text"])


def test_the_lab_has_notebooks_to_work_in(lab: str) -> None:
    names = {entry["name"] for entry in ask(f"{lab}/api/contents/work")["content"]}
    notebooks = {f"{page.stem}.ipynb" for page in (ROOT / "episodes").glob("*.md")}
    assert names == notebooks | {"start-here.md", "pages"}


def test_the_labs_kernel_is_the_lessons_and_runs_the_opening_cell(lab: str, clone: Path) -> None:
    notebook = json.loads((clone / "notebooks/02-train-locally.ipynb").read_text())
    assert (
        notebook["metadata"]["kernelspec"]["name"] in ask(f"{lab}/api/kernelspecs")["kernelspecs"]
    )
    opening = "".join(next(c for c in notebook["cells"] if c["cell_type"] == "code")["source"])
    assert printed_by_kernel(lab, opening).startswith("LESSON_TARGET=local")
    python = printed_by_kernel(lab, "import sys; print(sys.executable)").strip()
    assert Path(python).parent == clone / ".venv" / "bin"


def test_an_installation_that_was_cut_off_is_done_again(clone: Path, first_run: str) -> None:
    """The last test: it makes the environment again."""
    assert "Making .venv" in first_run
    (clone / ".venv" / "installed.txt").unlink()
    with subprocess.Popen(
        ["make", "setup"], cwd=clone, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as begun:
        assert begun.stdout
        try:
            assert any("Making .venv" in line for line in begun.stdout)
        finally:
            os.killpg(begun.pid, signal.SIGKILL)
    assert "Making .venv" in make(clone, "setup")
    subprocess.run([clone / ".venv/bin/python", "-c", "import torch, uv, pip"], check=True)
