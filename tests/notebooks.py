"""A pytest plugin for the notebooks: each starts alone, as for somebody who joins late.

`make test` runs the notebooks with `-p tests.notebooks`, in one session with the tests. Each of
them finds a fresh copy of the project's files, without runs/ and work/, a local cloud that holds
nothing, and the environment in which pytest was started: what an earlier notebook or test made is
not there. The local cloud itself is one for all notebooks of a process, emptied after each, because
starting it and importing torch for its jobs takes longer than some notebooks. Fixtures do not reach
notebook cells, so this uses hooks.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from nbval import plugin
from nbval.kernel import RunningKernel

import local_cloud
from testing.in_turn import CloudInTurn
from testing.order import use_recorded
from testing.workers import pytest_xdist_auto_num_workers as pytest_xdist_auto_num_workers
from tests import kernels, shown_outputs
from tools.copies import copy, copy_compiled
from tools.environment.make import install_lesson

# In which pytest was started: a worker's tests point its own SDKs at the worker's local cloud.
_environment = dict(os.environ)
_running: list[Alone] = []  # one notebook at most
_clouds: list[CloudInTurn] = []  # one at most, from the first notebook on
ENDED = {"SUCCEEDED", "FAILED", "STOPPED"}  # the states of jobs in which nothing bills


class Kernel(RunningKernel):
    """nbval starts a kernel in the folder where the notebook lies; here it is the copy's."""

    folder = ""

    def __init__(self, name: str, cwd: str, **more: Any) -> None:
        super().__init__(name, cwd=self.folder or cwd, **more)

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """What a cell shows; never the local cloud's secret, for notebooks are saved and shared."""
        message: dict[str, Any] = super().get_message(stream, timeout)
        secret = Path(os.environ["LOCAL_CLOUD_HOME"], "secret")
        assert not secret.exists() or secret.read_text() not in json.dumps(message["content"])
        return message


class Alone:
    """What one notebook has for itself: a folder, an environment, a local cloud in its turn."""

    def __init__(self, notebook: Path, root: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="notebook-")
        here = Path(self._folder.name)
        copy(root, here / "lesson")
        copy_compiled(root, here / "lesson")
        install_lesson(here / "ipython/profile_default", here / "lesson")
        Kernel.folder = str(here / "lesson" / notebook.relative_to(root).parent)
        self._patch = pytest.MonkeyPatch()
        for name in os.environ.keys() - _environment.keys() - {"PYTEST_CURRENT_TEST"}:
            self._patch.delenv(name)
        for name, value in _environment.items():
            self._patch.setenv(name, value)
        self._patch.setenv("IPYTHONDIR", str(here / "ipython"))
        if not _clouds:
            _clouds.append(CloudInTurn())
        self._patch.setenv("LOCAL_CLOUD_HOME", str(_clouds[0].home.folder))

    def end(self) -> None:
        """Empty the local cloud, remove the folder, and put back the environment."""
        _clouds[0].empty()
        self._patch.undo()
        self._folder.cleanup()


def pytest_configure(config: pytest.Config) -> None:
    """Before any notebook is read or run."""
    use_recorded(config, Path(__file__).with_name("durations.json"))
    plugin.RunningKernel = Kernel
    config.option.nbval_kernel_name = "python3"  # of the environment in which pytest runs
    shown_outputs.pytest_configure()
    kernels.replace_launch()
    # Only a run with workers has enough notebooks to be worth the imports.
    workers = config.getoption("dist", "no") != "no"
    if sys.platform == "linux" and workers and any("notebooks" in each for each in config.args):
        source = kernels.Source()
        config.add_cleanup(source.close)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """At the first cell of each notebook: its kernel is about to start."""
    if isinstance(item, plugin.IPyNbCell) and not _running:
        _running.append(Alone(item.path, item.config.rootpath))


@pytest.hookimpl(trylast=True)  # pytest's own part has to be done
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last cell of each notebook nothing may be left that bills."""
    if isinstance(item, plugin.IPyNbCell) and (nextitem is None or nextitem.parent != item.parent):
        alone = _running.pop()
        facts = local_cloud.status().facts  # of its own, which the environment names
        left = {state: n for state, n in facts.get("jobs", {}).items() if state not in ENDED}
        if facts.get("deployments"):
            left["deployments"] = facts["deployments"]
        alone.end()
        assert not left, f"{item.path.name} leaves on the local cloud what still bills: {left}"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """End what is there, also if the session ends in the middle of a notebook."""
    for alone in _running:
        alone.end()
    for cloud in _clouds:
        cloud.end()
