"""Open JupyterLab on the lesson's start page: `python -m tools.lab`; `make lab` runs this.

Arguments go to JupyterLab, such as `--no-browser`.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from local_cloud import LocalCloudError, control
from local_cloud.target import is_local
from tools import start_page, workbooks
from tools.folder import ROOT

SETTINGS = ROOT / "tools" / "jupyterlab.json"


def use_settings(prefix: Path) -> None:
    """Give JupyterLab in this environment the lesson's defaults, which users may change."""
    folder = prefix / "share" / "jupyter" / "lab" / "settings"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SETTINGS, folder / "overrides.json")


def console() -> str:
    """The URL of the local cloud's pages, which then runs; "" if it does not, or is not used."""
    if not is_local():
        return ""
    try:
        return f"http://127.0.0.1:{control.in_use().port}/console/"
    except LocalCloudError as problem:  # JupyterLab opens without it: a notebook says it again
        print(problem, file=sys.stderr)
        return ""


def command(arguments: list[str]) -> list[str]:
    """The command line that starts JupyterLab in the lesson's folder."""
    start = f"--LabApp.default_url=/lab/tree/{Path('work', start_page.NAME)}"
    return [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}", start, *arguments]


if __name__ == "__main__":
    workbooks.prepare()
    start_page.write(console=console())
    use_settings(Path(sys.prefix))
    line = command(sys.argv[1:])
    os.execv(line[0], line)
