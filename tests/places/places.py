"""What the tests of a place share: a clone, a bare environment, a JupyterLab that is not ours."""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import psutil

from testing.other_environments import tool
from tests.tools.running_lab import Json, RunningLab
from tests.training.support import free_port

ROOT = Path(__file__).parents[2]
# How this machine reaches packages; with uv's cache, an environment is made in seconds.
REACHES_PACKAGES = {
    name: value
    for name, value in os.environ.items()
    if name.startswith(("PIP_", "UV_", "SSL_")) or name.lower().endswith("_proxy")
}


def clone(folder: Path) -> Path:
    """Clone what is committed into a folder, as a newcomer does."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    return folder


def bare(home: Path, **variables: str) -> dict[str, str]:
    """Return the environment of somebody with an empty home, who can install packages."""
    home.mkdir(parents=True, exist_ok=True)
    cache = os.environ.get("UV_CACHE_DIR", str(Path.home() / ".cache/uv"))
    state = {"HOME": str(home), "LOCAL_CLOUD_HOME": str(home / "local-cloud")}
    path = os.environ["PATH"]
    return {"PATH": path, "UV_CACHE_DIR": cache, **REACHES_PACKAGES, **state, **variables}


def megabytes(folder: Path) -> int:
    """Return what a folder fills of its disk, in millions of bytes."""
    words = ["du", "-s", "--block-size=MB", folder]
    said = subprocess.run(words, capture_output=True, text=True, check=True)
    return int(said.stdout.split()[0].removesuffix("MB"))


class Hub(RunningLab):
    """A JupyterLab of another environment, below a prefix, as JupyterHub starts it for a user."""

    prefix = "/user/ada"

    def __init__(
        self, folder: Path, variables: dict[str, str], python: str = "", **user: Any
    ) -> None:
        """folder: what it shows; variables: its environment, and that of its kernels.

        python: that of the environment; user: who runs it, in the words of subprocess.Popen.
        """
        self.folder = folder
        self.port, self.token = free_port(), secrets.token_hex(16)
        self.runtime = Path(tempfile.mkdtemp(prefix="hub-", dir="/tmp"))
        words = [
            python or tool("hub", "python"),
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
        ]
        words += [f"--port={self.port}", f"--ServerApp.base_url={self.prefix}/"]
        own = {"JUPYTER_TOKEN": self.token, "JUPYTER_RUNTIME_DIR": str(self.runtime)}
        if user:
            os.chown(self.runtime, user["user"], user["group"])
        with open(self.runtime / "log", "w") as log:
            self.process = psutil.Popen(
                words, cwd=folder, env=variables | own, stdout=log, stderr=log, **user
            )

    def log(self) -> str:
        return (self.runtime / "log").read_text(errors="replace")

    def page(self, path: str, method: str = "GET", body: Json | None = None) -> str:
        return super().page(self.prefix + path, method, body)

    def connect(self, path: str) -> object:
        return super().connect(self.prefix + path)

    def open_notebook(self, path: Path) -> str:
        """Open a notebook as a double click does: with the kernel that it names."""
        content = self.ask("GET", f"/api/contents/{path}?content=1")["content"]
        kernel = {"name": content["metadata"]["kernelspec"]["name"]}
        session = {"path": str(path), "name": path.name, "type": "notebook", "kernel": kernel}
        return str(self.ask("POST", "/api/sessions", session)["kernel"]["id"])
