"""A notebook that is alone in Colab or Kaggle: its first cell gets all that the others need.

Simulated as root in an empty folder: a bare kernel, no make, and the packages that Colab has, in
the versions of pip-freeze.txt in googlecolab/backend-info of 2026-08-19 (Python 3.13, on Ubuntu
22.04). Kaggle builds on Colab's image: Dockerfile.tmpl in Kaggle/docker-python of 2026-08-12.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from testing.other_environments import tool
from tests.places.places import ROOT, bare, megabytes
from tools.lab import alone
from tools.pages.folder import Lesson

SOURCE = (Lesson(ROOT).config() or {})["source"]
HOSTED = "https://github.com/example/rented-machines"  # where a copy of the lesson has a home
IMPORTED = "import google.colab, numpy, pandas; print(pandas.__file__)"  # before the first cell
FIRST_JOBS = ("01-introduction", "04-vertex-first-job", "07-sagemaker-first-job")


def programs(folder: Path) -> Path:
    """Return a folder with this system's programs, and without make."""
    folder.mkdir()
    for program in Path("/usr/bin").iterdir():
        if program.name not in ("make", "gmake"):
            (folder / program.name).symlink_to(program)
    return folder


class Runtime:
    """What the service starts: a home, an empty folder, and kernels of the given Python."""

    def __init__(self, folder: Path, variable: str) -> None:
        self.home, self.content = folder / "root", folder / "content"
        self.content.mkdir()
        colab = folder / "given/google/colab"  # in the namespace of the SDKs
        colab.mkdir(parents=True)
        (colab / "__init__.py").touch()
        kernel = folder / "kernels/python3/kernel.json"
        kernel.parent.mkdir(parents=True)
        argv = [tool("colab", "python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        kernel.write_text(json.dumps({"argv": argv, "display_name": "", "language": "python"}))
        self.specs = KernelSpecManager(kernel_dirs=[str(kernel.parents[1])])
        # What is cloned from the copy's home is this checkout.
        instead = {"COUNT": "1", "KEY_0": f"url.{ROOT}.insteadOf", "VALUE_0": HOSTED}
        self.variables = bare(self.home, PATH=str(programs(folder / "bin")))
        self.variables |= {f"GIT_CONFIG_{name}": value for name, value in instead.items()}
        self.variables |= {variable: "1", "PYTHONPATH": str(folder / "given")}

    def run(self, cells: Sequence[str]) -> list[str]:
        """Run cells in a new kernel; what each has printed. AssertionError, if one raises."""
        manager = KernelManager(kernel_name="python3", kernel_spec_manager=self.specs)
        manager.start_kernel(env=self.variables, cwd=str(self.content))
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=60)
            return [self._printed(client, cell) for cell in cells]
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()

    def _printed(self, client: BlockingKernelClient, cell: str) -> str:
        said: list[str] = []

        def keep(message: dict[str, Any]) -> None:
            content = message["content"]
            said.append(content.get("text") or "\n".join(content.get("traceback", [])))

        reply = client.execute_interactive(cell, timeout=600, output_hook=keep)
        assert reply["content"]["status"] == "ok", f"{cell}\n{''.join(said)}"
        return "".join(said)

    def stop(self) -> None:
        """Stop its local cloud."""
        lesson = self.home / "rented-machines"
        command = [lesson / ".venv/bin/python", "-m", "local_cloud", "stop"]
        subprocess.run(command, cwd=lesson, env=self.variables)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    started = Runtime(tmp_path_factory.mktemp("colab"), alone.VARIABLES[0])
    yield started
    started.stop()


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST_JOBS)
def test_a_notebook_runs_from_its_first_cell_on(runtime: Runtime, name: str) -> None:
    fresh = not (runtime.home / "rented-machines").exists()
    begun = time.monotonic()
    book = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text())
    cells = ["".join(each["source"]) for each in book["cells"] if each["cell_type"] == "code"]
    cells[0] = cells[0].replace(alone.cell(SOURCE), alone.cell(HOSTED))  # as `make notebooks` does
    imported, first, *_ = runtime.run([IMPORTED, *cells])
    assert ".venv-colab" in imported
    assert ("Making .venv" in first and "Cloning into" in first) is fresh
    assert "LESSON_TARGET=local" in first
    if fresh:
        size = megabytes(runtime.home / "rented-machines")
        print(f"\nColab: {time.monotonic() - begun:.0f} s with {name}, {size} MB")
    assert not list(runtime.content.iterdir())


def test_elsewhere_the_first_cell_only_looks_at_two_variables() -> None:
    lines = alone.cell(HOSTED).splitlines()
    condition = next(line for line in lines if line.startswith("if "))
    assert not eval(condition.removeprefix("if ").partition(":")[0], {"os": os})
    others = [line for line in lines if line and not line.startswith(("if ", "    "))]
    assert others == ["import os"]
