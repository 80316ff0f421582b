"""The notebooks in JupyterLab, in a real browser: read, run, and looked at by axe-core.

Needs Chromium or Chrome, as test_site_browser.py. With LOOK=folder there are pictures of it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testing.axe import VIOLATIONS_IN_CELLS
from testing.browser import Browser
from tests.training.support import free_port
from tools.copies import copy
from tools.environment.make import install_lesson
from tools.lab import workbooks
from tools.lab.__main__ import use_settings
from tools.pages.folder import ROOT

pytestmark = pytest.mark.slow

TOKEN = "of-this-test"
NO_CHECK = "jupyterlab.NeverCheckForUpdate"
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
READY = """(() => {
  const panel = window.jupyterapp?.shell?.currentWidget;
  const cells = panel?.content?.widgets;
  return !!cells?.length && panel.sessionContext.isReady;
})()"""
RUN = """(() => {
  window.ran = false;
  jupyterapp.commands.execute('notebook:run-all-cells').then(() => { ran = true; });
  return true;
})()"""
HEIGHT = "document.querySelector('.jp-WindowedPanel-outer').scrollHeight"
TO_THE_TOP = "document.querySelector('.jp-WindowedPanel-outer').scrollTo(0, 0)"
TALLEST = 16000  # of a picture that Chromium takes
# The cells that were not run to their end, and what went wrong.
PROBLEMS = """(() => {
  const cells = [...jupyterapp.shell.currentWidget.content.widgets]
    .filter((cell) => cell.model.type === 'code').map((cell) => cell.model);
  const errors = cells.flatMap((cell) => cell.outputs.toJSON())
    .filter((output) => output.output_type === 'error');
  return [cells.filter((cell) => cell.executionCount === null).length, errors];
})()"""

RUN_FIRST = """(() => {
  const notebook = jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = notebook.widgets.findIndex((cell) => cell.model.type === 'code');
  jupyterapp.commands.execute('notebook:run-cell');
  return true;
})()"""
FIRST_RAN = """jupyterapp.shell.currentWidget.content.widgets
  .find((cell) => cell.model.type === 'code').model.executionCount !== null"""
CHANGE_THEME = "jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab %s'}), 0"
DIAGRAMS = """[...document.querySelectorAll('.jp-MarkdownOutput img')]
  .map((image) => getComputedStyle(image).filter)"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab on a copy of the lesson, with a local cloud of its own; returns its URL."""
    folder = tmp_path_factory.mktemp("lab")
    lesson = folder / "lesson"
    copy(ROOT, lesson)
    workbooks.copy_new(lesson)
    use_settings(Path(sys.prefix))
    install_lesson(folder / "ipython/profile_default", lesson)
    own = {"LOCAL_CLOUD_HOME": str(folder / "home"), "IPYTHONDIR": str(folder / "ipython")}
    own |= {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    own["JUPYTERLAB_SETTINGS_DIR"] = str(folder / "settings")
    settings = folder / "settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"windowingMode": "none"}')  # the cells out of sight are there, too
    port = free_port()
    words = [f"--ServerApp.root_dir={lesson}", "--no-browser", "--allow-root", f"--port={port}"]
    words += [f"--IdentityProvider.token={TOKEN}", "--LabApp.expose_app_in_browser=True"]
    words += ["--LabApp.news_url=None", f"--LabApp.check_for_updates_class={NO_CHECK}"]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *words],
            cwd=lesson,
            env=os.environ | own,
            stdout=log,
            stderr=log,
        )
    try:
        while True:  # a pytest run that takes too long is ended as a whole
            assert process.poll() is None, (folder / "log").read_text()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"http://localhost:{port}"
    finally:
        process.terminate()
        process.wait()
        stop = [sys.executable, "-m", "local_cloud", "stop"]
        subprocess.run(stop, cwd=lesson, env=os.environ | own, check=False)


def until(browser: Browser, expression: str, seconds: float) -> None:
    """Wait until the expression is true in the page."""
    end = time.monotonic() + seconds
    while not browser.js(expression):
        assert time.monotonic() < end, f"{expression} is not true after {seconds} s"
        time.sleep(0.2)


def opened(browser: Browser, lab: str, name: str) -> None:
    """Open a notebook, and wait until its kernel is there."""
    browser.open(f"{lab}/doc/tree/{name}.ipynb?reset&token={TOKEN}")
    until(browser, READY, 60)


def look(browser: Browser, name: str) -> None:
    """Keep a picture, if a folder is named for them."""
    if folder := os.environ.get("LOOK"):
        Path(folder).mkdir(exist_ok=True)
        browser.picture(Path(folder, f"{name}.png"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_can_be_read_on_any_screen(
    browser: Browser, lab: str, axe: str, name: str
) -> None:
    opened(browser, lab, f"work/{name}")
    browser.js(axe)
    for width in (1280, 390):
        browser.look(width=width)
        look(browser, f"{name}-{width}")
        assert browser.js(VIOLATIONS_IN_CELLS) == []


@pytest.mark.parametrize("name", os.environ.get("WALK", "02-train-locally").split())
def test_all_cells_run_and_what_they_show_can_be_read(
    browser: Browser, lab: str, axe: str, name: str
) -> None:
    opened(browser, lab, f"notebooks/instructor/{name}")
    started = time.monotonic()
    assert browser.js(RUN)
    until(browser, f"ran && {PROBLEMS}[0] === 0", 300)
    print(f"{name}: {time.monotonic() - started:.0f} s")
    problems: list[Any] = browser.js(PROBLEMS)[1]
    assert problems == []
    browser.js(axe)
    for width in (1280, 390):
        browser.look(width=width)
        browser.look(width=width, height=min(browser.js(HEIGHT) + 200, TALLEST))
        browser.js(TO_THE_TOP)
        look(browser, f"{name}-run-{width}")
        assert browser.js(VIOLATIONS_IN_CELLS) == []


def test_the_diagrams_of_a_notebook_follow_the_theme(browser: Browser, lab: str) -> None:
    opened(browser, lab, "work/01-introduction")
    assert browser.js(RUN_FIRST)
    until(browser, FIRST_RAN, 60)
    for theme, filters in (("Dark", "invert(0.93) hue-rotate(180deg)"), ("Light", "none")):
        browser.js(CHANGE_THEME % theme)
        until(browser, f"document.body.dataset.jpThemeName === 'JupyterLab {theme}'", 30)
        browser.js("document.querySelector('.jp-MarkdownOutput img').scrollIntoView()")
        look(browser, f"diagram-{theme}")
        assert set(browser.js(DIAGRAMS)) == {filters}
