"""The kernels of `make lab` are reached by socket files, and all of JupyterLab works with them."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.running_lab import RunningLab
from tools.lab.__main__ import DEBUGGER

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    with RunningLab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture
def kernel(lab: RunningLab) -> Iterator[str]:
    started = lab.start_kernel()
    yield started
    lab.ask("DELETE", f"/api/kernels/{started}")


def test_its_sockets_are_files_in_a_folder_of_its_owner(lab: RunningLab, kernel: str) -> None:
    facts = json.loads((lab.runtime / f"kernel-{kernel}.json").read_text())
    assert facts["transport"] == "ipc"
    assert Path(facts["ip"]).parent == lab.runtime
    assert lab.runtime.stat().st_mode & 0o077 == 0


def test_several_kernels_run_scripts_and_start_again(
    lab: RunningLab, kernel: str, tmp_path: Path
) -> None:
    (tmp_path / "script.py").write_text("print('the script has run'); value = 3")
    other = lab.start_kernel()
    assert lab.run(kernel, f"%run {tmp_path}/script.py") == "the script has run\n"
    assert lab.run(kernel, "print(value)") == "3\n"
    assert lab.run(other, "print(value)") == "NameError"
    lab.ask("POST", f"/api/kernels/{kernel}/restart")
    assert lab.run(kernel, "print(value)") == "NameError"
    lab.ask("DELETE", f"/api/kernels/{other}")
    assert not list(lab.runtime.glob(f"kernel-{other}*"))


def test_a_cell_is_interrupted(lab: RunningLab, kernel: str, tmp_path: Path) -> None:
    def interrupt() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        lab.ask("POST", f"/api/kernels/{kernel}/interrupt")

    thread = threading.Thread(target=interrupt)
    thread.start()
    code = f"import time; open({str(tmp_path / 'begun')!r}, 'w').close(); time.sleep(600)"
    assert lab.run(kernel, code) == "KeyboardInterrupt"
    thread.join()


def test_its_terminal_works(lab: RunningLab) -> None:
    name = lab.ask("POST", "/api/terminals", {})["name"]
    with contextlib.closing(lab.connect(f"/terminals/websocket/{name}")) as line:
        line.send(json.dumps(["stdin", "echo $((6 * 7))\r"]))
        said = ""
        while "42" not in said:
            kind, *words = json.loads(line.recv())
            said += "".join(words) if kind == "stdout" else ""


def test_no_button_starts_the_debugger(lab: RunningLab) -> None:
    """Whoever connects to the debugger's port runs code in the kernel."""
    page = re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', lab.page("/lab"), re.DOTALL)
    assert page and DEBUGGER in json.loads(page[1])["disabledExtensions"]
