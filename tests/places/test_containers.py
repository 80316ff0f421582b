"""Binder's files and those of a development container, step by step, without their images.

What a service does around them is not here: no image is built, and Binder's conda is a venv with
JupyterLab. The steps are those of repo2docker (buildpacks/base.py, 2026-08-21): packages by apt,
the repository in the home of a user who is not root, then postBuild as that user.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.places.places import ROOT, Hub, bare, clone, megabytes

pytestmark = pytest.mark.slow
BINDER = ROOT / ".binder"
DEVELOPMENT = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
PYTHON = "/usr/bin/python3"  # every user can run it


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that another user can reach, as pytest's are not."""
    folder = Path(tempfile.mkdtemp(prefix="binder-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def user() -> dict[str, Any]:
    """What starts a process as Binder's user, where this one may; else as this one."""
    return {"user": 1000, "group": 1000, "extra_groups": []} if os.geteuid() == 0 else {}


def jupyter(folder: Path, variables: dict[str, str]) -> Path:
    """Make the environment that shows JupyterLab, with pip, as conda's has it."""
    subprocess.run([PYTHON, "-m", "venv", folder], check=True)
    uv = [ROOT / ".venv/bin/uv", "pip", "install", "--quiet", "--link-mode", "copy"]
    install = [*uv, "--compile-bytecode", "--python", folder / "bin/python", "jupyterlab"]
    subprocess.run(install, env=variables, check=True)
    return folder


def test_binders_files_make_a_jupyterlab_with_the_lessons_kernel(home: Path) -> None:
    for package in (BINDER / "apt.txt").read_text().split():
        assert shutil.which(package), f"{package} is not installed here"
    lesson = clone(home / "jovyan")  # the home is the repository
    notebook = jupyter(home / "notebook", bare(home / "root"))
    variables = bare(
        lesson,
        PATH=f"{notebook}/bin:/usr/local/bin:/usr/bin:/bin",
        UV_CACHE_DIR=str(home / "cache"),  # empty
        NB_PYTHON_PREFIX=str(notebook),
        BINDER_REPO_URL="https://example.org",
        JUPYTERHUB_SERVICE_PREFIX="/user/ada/",
    )
    if user():
        subprocess.run(["chown", "-R", "1000:1000", home], check=True)
    begun = time.monotonic()
    post_build = subprocess.run(
        ["./.binder/postBuild"], cwd=lesson, env=variables, capture_output=True, text=True, **user()
    )
    assert post_build.returncode == 0, post_build.stdout + post_build.stderr
    seconds = time.monotonic() - begun
    print(f"\nBinder: {seconds:.0f} s with an empty cache, {megabytes(lesson)} MB")
    assert "This is Binder." in post_build.stdout
    python = str(notebook / "bin/python")
    with Hub(lesson, variables, python=python, **user()) as hub:
        kernel = hub.open_notebook(Path("work/01-introduction.ipynb"))
        opened = json.loads((lesson / "work/01-introduction.ipynb").read_text())["cells"]
        first = next(cell for cell in opened if cell["cell_type"] == "code")
        assert hub.run(kernel, "".join(first["source"])).startswith("LESSON_TARGET=local")
        assert hub.run(kernel, "import sys; print(sys.prefix)").strip() == f"{lesson}/.venv"


def test_the_steps_of_the_development_container_end_with_jupyterlab(tmp_path: Path) -> None:
    """As root, which is the user of its image; the image's Python is another one than here."""
    lesson = clone(tmp_path / "lesson")
    variables = bare(tmp_path / "root")
    begun = time.monotonic()
    subprocess.run(
        DEVELOPMENT["postCreateCommand"], shell=True, cwd=lesson, env=variables, check=True
    )
    print(f"\na container: {time.monotonic() - begun:.0f} s, {megabytes(lesson)} MB")
    log = tmp_path / "log"
    with open(log, "w") as said:
        attached = subprocess.Popen(
            DEVELOPMENT["postAttachCommand"],
            shell=True,
            cwd=lesson,
            env=variables,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        while not re.search(
            r"http://127\.0\.0\.1:\d+/lab/tree/work/start-here\.md", log.read_text()
        ):
            assert attached.poll() is None and time.monotonic() < begun + 500, log.read_text()
            time.sleep(0.2)
    finally:
        os.killpg(attached.pid, 15)
        attached.wait()
        stop = [lesson / ".venv/bin/python", "-m", "local_cloud", "stop"]
        subprocess.run(stop, cwd=lesson, env=variables)
    assert DEVELOPMENT["forwardPorts"] == [8888], "JupyterLab's own"
