"""A hub: a JupyterLab of another environment, with one command of ours in its terminal."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import requests

from testing.other_environments import tool
from tests.places.places import Hub, bare, clone, megabytes
from tests.tools.test_environment import old_pythons

pytestmark = pytest.mark.slow


class Learner(NamedTuple):
    """Somebody on a hub, after the one command."""

    lesson: Path
    said: str
    hub: Hub


@pytest.fixture(scope="module")
def learner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Learner]:
    """The command is run by the oldest Python here, as Workbench's conda has an old one."""
    tool("hub", "python")  # else this is skipped
    home = tmp_path_factory.mktemp("hub") / "home of ada"
    lesson = clone(home / "lesson")
    python = next(iter(reversed(old_pythons())), Path(sys.executable))
    newer = Path(sys.executable).resolve().parent  # which uv finds
    variables = bare(home, PATH=f"{python.parent}:{newer}:/usr/bin:/bin")
    variables["JUPYTERHUB_SERVICE_PREFIX"] = "/user/ada/"
    begun = time.monotonic()
    done = subprocess.run(
        [python, "-m", "tools.lab.hub"], cwd=lesson, env=variables, capture_output=True, text=True
    )
    print(f"\na hub: {time.monotonic() - begun:.0f} s, {megabytes(lesson / '.venv')} MB")
    assert done.returncode == 0, done.stdout + done.stderr
    with Hub(home, variables) as hub:
        yield Learner(lesson, done.stdout, hub)
    stop = [lesson / ".venv/bin/python", "-m", "local_cloud", "stop"]
    subprocess.run(stop, cwd=lesson, env=variables)


def test_it_says_which_disk_it_fills_before_and_where_to_go_on(learner: Learner) -> None:
    disk, work = re.escape(str(learner.lesson)), re.escape(str(learner.lesson / "work"))
    order = rf"fills 2\.6 GB of the disk of {disk}.*This is a JupyterHub.*open {work}"
    assert re.search(order, learner.said, re.DOTALL), learner.said


def test_a_double_click_on_a_notebook_runs_it_in_the_lessons_kernel(learner: Learner) -> None:
    """In work/, and the one of the repository."""
    known = learner.hub.ask("GET", "/api/kernelspecs")["kernelspecs"]
    assert {"python3", "rented-machines"} <= known.keys()
    for folder in ("work", "notebooks"):
        kernel = learner.hub.open_notebook(Path("lesson", folder, "04-vertex-first-job.ipynb"))
        prefix = learner.hub.run(kernel, "import sys; print(sys.prefix)")
        assert prefix.strip() == str(learner.lesson / ".venv")
        learner.hub.ask("DELETE", f"/api/kernels/{kernel}")


def test_a_whole_notebook_runs_there_and_the_check_knows_the_place(learner: Learner) -> None:
    name = "04-vertex-first-job.ipynb"
    kernel = learner.hub.open_notebook(Path("lesson/work", name))
    for cell in json.loads((learner.lesson / "work" / name).read_text())["cells"]:
        if cell["cell_type"] == "code":
            said = learner.hub.run(kernel, "".join(cell["source"]))
            assert not re.search(r"(Error|Exception)$", said), said
    said = learner.hub.run(kernel, "from lesson import check; check.set_up()")
    assert re.search(r"^PASS  place +a JupyterHub: open work/", said, re.MULTILINE), said
    learner.hub.ask("DELETE", f"/api/kernels/{kernel}")


def test_the_console_works_through_the_hubs_proxy(learner: Learner) -> None:
    """By the command that `tools.lab.hub` has printed."""
    (command,) = re.findall(
        r"^ +(\.venv/bin/python -m local_cloud console \S+)$", learner.said, re.M
    )
    words = command.replace("https://HUB", f"http://127.0.0.1:{learner.hub.port}").split()
    done = subprocess.run(
        words,
        cwd=learner.lesson,
        env=bare(learner.lesson.parent),
        capture_output=True,
        text=True,
        check=True,
    )
    link = re.search(r"http://\S+", done.stdout)
    assert link
    with requests.Session() as browser:
        browser.headers["Authorization"] = f"token {learner.hub.token}"
        opened = browser.get(link[0], timeout=30)
        assert opened.ok and "Latest jobs" in opened.text
        assert "/user/ada/proxy/" in opened.url


def test_a_hub_without_the_kernel_is_told_what_to_run(learner: Learner) -> None:
    """The last test: it takes the kernel away."""
    home = learner.lesson.parent
    shutil.rmtree(home / ".local/share/jupyter/kernels/rented-machines")
    variables = bare(home, JUPYTERHUB_SERVICE_PREFIX="/user/ada/")
    python = learner.lesson / ".venv/bin/python"
    said = subprocess.run(
        [python, "-m", "lesson.check"], cwd=learner.lesson, env=variables, capture_output=True
    )
    assert b"FIX   place              a JupyterHub: its JupyterLab does not know" in said.stdout
