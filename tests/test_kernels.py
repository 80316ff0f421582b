"""Kernels that are forked are as those that are started, and their own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from jupyter_client.provisioning import local_provisioner

from tests import kernels

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")

TELLS = """
import numpy, os, sys
print(os.getcwd(), os.environ["MINE"], os.environ.get("OPENBLAS_NUM_THREADS"), sys.path)
print(os.getpid() == os.getsid(0), __name__, sys.argv[0].rpartition("/")[2].split(".")[0])
print(sorted(m for m in sys.modules if m.partition(".")[0] in ("tests", "local_cloud")))
print("random", numpy.random.random())
"""


@pytest.fixture(autouse=True)
def forking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_provisioner, "launch_kernel", kernels.launch)
    monkeypatch.delenv(kernels.SOURCE, raising=False)  # that of the notebooks in the same run


def shown(code: str, folder: Path, **variables: str) -> tuple[str, type]:
    """What a new kernel prints, and what its process is to jupyter_client."""
    manager, client = kernels.start(cwd=str(folder), env={**os.environ, **variables})
    said: list[str] = []
    try:
        client.execute_interactive(
            code, timeout=60, output_hook=lambda m: said.append(m["content"].get("text", ""))
        )
        return "".join(said), type(manager.provisioner.process)
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
        assert not manager.is_alive()


def test_a_forked_kernel_is_as_a_started_one_and_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(kernels.Source(("ipykernel.kernelapp", "numpy"))):
        forked, kind = shown(TELLS, tmp_path, MINE="x y")
        again, _ = shown(TELLS, tmp_path, MINE="x y")
    started, other = shown(TELLS, tmp_path, MINE="x y")
    assert (kind, other) == (kernels.Forked, subprocess.Popen)
    alike = [text.rpartition("random ") for text in (forked, again, started)]
    assert alike[0][0] == alike[1][0] == alike[2][0]
    assert str(tmp_path) in forked
    assert alike[0][2] != alike[1][2]  # random numbers


def test_a_process_with_threads_is_not_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "busy.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with closing(kernels.Source(("ipykernel.kernelapp", "busy"))):
        assert shown("print(1)", tmp_path) == ("1\n", subprocess.Popen)
    assert "kernels are not forked: 2 threads run" in capfd.readouterr().err
