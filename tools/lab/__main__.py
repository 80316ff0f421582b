"""Open JupyterLab on the lesson's start page: `python -m tools.lab`; `make lab` runs this.

Arguments go to JupyterLab, such as `--no-browser`.

By default a kernel listens on TCP ports of loopback, and sends every cell and every output to
whoever connects, so other users of the machine can read them. Here it listens on socket files in a
folder that only its owner can open. JupyterLab's debugger has no such way: it is switched off.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tempfile
import uuid
from pathlib import Path
from urllib.parse import urlsplit

from jupyter_core.paths import jupyter_runtime_dir

import local_cloud
from tools.lab import start_page, workbooks
from tools.pages.folder import ROOT

SETTINGS = Path(__file__).with_name("jupyterlab.json")
# It listens on a port of loopback, and runs the code of any user of the machine who connects.
DEBUGGER = "@jupyterlab/debugger-extension"


def use_settings(prefix: Path) -> None:
    """Give JupyterLab in this environment the lesson's defaults, which users may change."""
    folder = prefix / "share" / "jupyter" / "lab" / "settings"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SETTINGS, folder / "overrides.json")
    page = {"disabledExtensions": {DEBUGGER: True}}
    (folder / "page_config.json").write_text(json.dumps(page))


def runtime_folder() -> Path:
    """Return the folder for the kernels' socket files, which only its owner can open.

    It is Jupyter's own, or a new one in /tmp where that cannot hold them.
    """
    usual = Path(jupyter_runtime_dir())
    if _holds_sockets(usual):
        return usual
    return Path(tempfile.mkdtemp(prefix="lab-", dir="/tmp"))


def _holds_sockets(folder: Path) -> bool:
    """Return whether it is ours, and kernels can make socket files there.

    Some shared file systems have none, and their paths have 103 bytes at most on macOS.
    """
    longest = folder / f"kernel-{uuid.uuid4()}-ipc-99"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(longest))
        longest.unlink()
    except OSError:
        return False
    return True


def console() -> str:
    """Return the URL of the local cloud's pages, which then runs.

    Return "" if it does not run, or is not used.
    """
    try:
        if local_cloud.target() == "cloud":
            return ""
        link = urlsplit(local_cloud.console_link())  # it starts the local cloud
        return f"{link.scheme}://{link.netloc}/console/"
    except (
        local_cloud.LocalCloudError
    ) as problem:  # JupyterLab opens without it: a notebook says it again
        print(problem, file=sys.stderr)
        return ""


def command(arguments: list[str]) -> list[str]:
    """Return the command line that starts JupyterLab in the lesson's folder."""
    start = f"--LabApp.default_url=/lab/tree/{Path('work', start_page.NAME)}"
    lab = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}", start]
    return [*lab, "--KernelManager.transport=ipc", *arguments]


if __name__ == "__main__":
    workbooks.prepare()
    start_page.write(console=console())
    use_settings(Path(sys.prefix))
    os.environ["JUPYTER_RUNTIME_DIR"] = str(runtime_folder())
    line = command(sys.argv[1:])
    os.execv(line[0], line)
