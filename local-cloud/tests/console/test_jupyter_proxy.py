"""The console through a real jupyter-server-proxy, as in the browser of a hosted JupyterLab."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import psutil
import pytest
import requests

from local_cloud.client import control
from local_cloud.client.control import Status

pytestmark = pytest.mark.slow  # a Jupyter server takes seconds to start


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What a Jupyter server says about itself: its `url` and its `token`."""
    folder = tmp_path_factory.mktemp("jupyter")
    own = {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("RUNTIME", "CONFIG", "DATA")}
    command = [
        "-m",
        "jupyter",
        "server",
        "--no-browser",
        "--allow-root",
        "--ServerApp.ip=127.0.0.1",
    ]
    log = (folder / "log").open("w")
    server = subprocess.Popen(
        [sys.executable, *command, f"--ServerApp.root_dir={folder}"],
        env=os.environ | own,
        stderr=log,
    )
    yield _says(Path(own["JUPYTER_RUNTIME_DIR"]) / f"jpserver-{server.pid}.json", server)
    psutil.Process(server.pid).terminate()
    server.wait()
    log.close()


def _says(file: Path, server: subprocess.Popen[bytes]) -> dict[str, str]:
    while server.poll() is None:
        try:
            content: dict[str, str] = json.loads(file.read_text())
            requests.get(content["url"], timeout=5).close()
            return content
        except (OSError, ValueError):
            time.sleep(0.1)
    raise AssertionError("the Jupyter server did not start")


def test_its_pages_and_buttons_work_behind_the_prefix_of_the_proxy(
    cloud: Status, jupyter: dict[str, str]
) -> None:
    with requests.Session() as browser:
        browser.headers["Authorization"] = f"token {jupyter['token']}"
        link = control.console_link(cloud.home, f"{jupyter['url']}proxy/PORT")
        opened = browser.get(link, timeout=30)
        assert opened.ok and "Latest jobs" in opened.text
        assert opened.url == f"{jupyter['url']}proxy/{cloud.port}/console/", "the code is gone"
        assert browser.get(urljoin(opened.url, "static/console.js"), timeout=30).ok

        page = browser.get(urljoin(opened.url, "failures"), timeout=30)
        origin = f"http://{urlsplit(jupyter['url']).netloc}"
        for button in ("Rehearse no quota", "Cancel all"):
            action, fields = _form(page.text, button)
            sent = urljoin(page.url, action)
            page = browser.post(sent, fields, headers={"Origin": origin}, timeout=30)
            assert page.ok, page.text
        elsewhere = {"Origin": "http://127.0.0.1:1"}
        assert browser.post(sent, fields, headers=elsewhere, timeout=30).status_code == 403


def test_without_the_session_it_shows_nothing(cloud: Status, jupyter: dict[str, str]) -> None:
    control.console_link(cloud.home, f"{jupyter['url']}proxy/PORT")
    page = f"{jupyter['url']}proxy/{cloud.port}/console/jobs"
    answer = requests.get(page, headers={"Authorization": f"token {jupyter['token']}"}, timeout=30)
    assert answer.status_code == 401


def _form(page: str, button: str) -> tuple[str, dict[str, str]]:
    """Return where the first form with this button goes, and its hidden fields."""
    forms = re.findall(r'<form method="post" action="([^"]+)">(.*?)</form>', page, re.S)
    for action, inside in forms:
        if f">{button}<" in inside:
            fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', inside)
            return action, dict(fields)
    raise AssertionError(f"no button {button}")
