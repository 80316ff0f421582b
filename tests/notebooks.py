"""A pytest plugin for the notebooks: each starts alone, as for somebody who joins late.

`make test` runs the notebooks with `-p tests.notebooks`. Each of them finds a fresh copy of the
project's files, without runs/ and work/, and a local cloud that holds nothing: what an earlier
notebook made is not there. Fixtures do not reach notebook cells, so this uses hooks.
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

from local_cloud.client import control
from local_cloud.client.home import Home
from local_cloud.engine.spec import State
from tests import kernels, shown_outputs
from tests.workers import pytest_xdist_auto_num_workers as pytest_xdist_auto_num_workers
from tools.copies import copy
from tools.environment import install_lesson

# Of the notebooks that take longest, the longest first (pytest --durations=0).
LONGEST = (
    "09-",
    "12-",
    "14-",
    "16-",
    "18-",
    "19-",
    "11-",
    "08-",
    "10-",
    "13-",
    "05-",
    "07-",
    "23-",
    "01-",
    "04-",
    "06-",
)

_folders: list[tempfile.TemporaryDirectory[str]] = []


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


def start_alone(notebook: Path, root: Path) -> None:
    """Have the next kernel begin where nobody has run anything yet."""
    end()
    _folders.append(tempfile.TemporaryDirectory(prefix="notebook-"))
    here = Path(_folders[-1].name)
    copy(root, here / "lesson")
    install_lesson(here / "ipython/profile_default", here / "lesson")
    os.environ["IPYTHONDIR"] = str(here / "ipython")
    os.environ["LOCAL_CLOUD_HOME"] = str(here / "local-cloud")
    Kernel.folder = str(here / "lesson" / notebook.relative_to(root).parent)


def home() -> Home:
    """The home of the notebook's local cloud, whose code is that of the notebook's own copy."""
    return Home(Path(os.environ["LOCAL_CLOUD_HOME"]))


def end() -> None:
    """Stop the local cloud of the notebook before, and remove its folder."""
    if _folders:
        control.stop(home())
        _folders.pop().cleanup()


def pytest_configure(config: pytest.Config) -> None:
    """Before any notebook is read or run."""
    plugin.RunningKernel = Kernel
    shown_outputs.pytest_configure()
    kernels.replace_launch()
    # Only a run with workers has enough notebooks to be worth the imports.
    if sys.platform == "linux" and config.getoption("dist", "no") != "no":
        source = kernels.Source()
        config.add_cleanup(source.close)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The notebooks that take longest come first, so that the workers end together."""
    items.sort(key=lambda item: _turn(item.path.name))


def _turn(name: str) -> int:
    return next((i for i, each in enumerate(LONGEST) if name.startswith(each)), len(LONGEST))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """At the first cell of each notebook: its kernel is about to start."""
    book = item.parent
    if isinstance(book, plugin.IPyNbFile) and book.kernel is None:
        start_alone(book.path, item.config.rootpath)


@pytest.hookimpl(trylast=True)  # pytest's own part has to be done
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last cell of each notebook nothing may be left that bills."""
    if isinstance(item, plugin.IPyNbCell) and (nextitem is None or nextitem.parent != item.parent):
        facts = control.status(home()).facts
        left = {state: n for state, n in facts.get("jobs", {}).items() if not State(state).ended}
        if facts.get("deployments"):
            left["deployments"] = facts["deployments"]
        assert not left, f"{item.path.name} leaves on the local cloud what still bills: {left}"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """After the last notebook."""
    end()
