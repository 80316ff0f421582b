"""What a run of the cells shows, on the pages.

`python -m tools.pictures.shown 02 04` renders it again.

Below a live cell, an episode may have a picture of a run, `![…](fig/shown-NAME.png){alt="…"}`, or a
block ```{.output .shown} with the table or the log that it showed. Unlike expected output, neither
is compared with later runs: times and machines differ. This runs the instructors' notebooks of the
named episodes (all that show something, if none is named) in a copy of the lesson, and writes the
pictures, their descriptions and the blocks. Look at what has changed before you commit it.
"""

from __future__ import annotations

import argparse
import html
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from base64 import b64decode
from pathlib import Path
from typing import Any

from tools.copies import copy
from tools.environment.kernel import install_lesson
from tools.notebooks.cells import Cell, cells
from tools.notebooks.links import read_episodes
from tools.pages.folder import ROOT

Output = dict[str, Any]
_PICTURE = re.compile(r'<img[^>]* alt="([^"]*)"[^>]* src="data:image/png;base64,([^"]+)"')
WIDGET = "application/vnd.jupyter.widget-view+json"  # its text names its class only
COLOURS = 64  # of a plot: edges stay smooth, and the file small
LINES = 30  # of a log; the middle of a longer one is left out


def main(arguments: list[str] | None = None) -> None:
    """Render the named episodes, or all."""
    parser = argparse.ArgumentParser(prog="python -m tools.pictures.shown", description=__doc__)
    parser.add_argument("numbers", nargs="*", help="of episodes, such as 02")
    numbers = parser.parse_args(arguments).numbers
    lesson = read_episodes(ROOT)
    for path in lesson.pages:
        wanted = [cell for cell in cells(lesson, path, instructor=True) if cell.code]
        if any(cell.shown for cell in wanted) and (not numbers or path.name[:2] in numbers):
            print(f"{path.name} ...", flush=True)
            render(path, wanted, execute(path.stem))


def execute(name: str) -> list[list[Output]]:
    """Run an instructors' notebook in a copy of the lesson; return what each cell has shown."""
    with tempfile.TemporaryDirectory(prefix="shown-") as folder:
        lesson = Path(folder, "lesson")
        copy(ROOT, lesson)
        notebook = f"notebooks/instructor/{name}.ipynb"
        install_lesson(Path(folder, "ipython/profile_default"), lesson)
        own = {"LOCAL_CLOUD_HOME": f"{folder}/home", "IPYTHONDIR": f"{folder}/ipython"}
        run = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace"]
        # By socket files: on TCP of loopback other users of the machine could read the outputs.
        run += ["--KernelManager.transport=ipc", f"--KernelManager.ip={folder}/kernel"]
        try:
            subprocess.run([*run, notebook], cwd=lesson, env=os.environ | own, check=True)
        finally:
            stop = [sys.executable, "-m", "local_cloud", "stop"]
            subprocess.run(stop, cwd=lesson, env=os.environ | own, check=False)
        text = (lesson / notebook).read_text(encoding="utf-8")
        content = json.loads(text.replace(own["LOCAL_CLOUD_HOME"], "~/.local/state/local-cloud"))
    return [cell["outputs"] for cell in content["cells"] if cell["cell_type"] == "code"]


def render(path: Path, wanted: list[Cell], shown: list[list[Output]]) -> None:
    """Write what the cells of an episode have shown into it, and its pictures beside it."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for cell, outputs in reversed(list(zip(wanted, shown, strict=True))):
        if cell.shown and cell.shown.picture:
            alt, picture = picture_of(outputs)
            (path.parent / cell.shown.picture).write_bytes(smaller(picture))
            first = cell.shown.line - 1
            described = alt.replace('"', "'")
            lines[first] = lines[first].replace(f'alt="{cell.shown.text}"', f'alt="{described}"')
        elif cell.shown:
            lines[cell.shown.line : cell.shown.end - 1] = text_of(outputs).split("\n")
    path.write_text("\n".join(lines), encoding="utf-8")


def text_of(outputs: list[Output]) -> str:
    """Return what a cell showed as text: what it printed, a job's last progress, its value."""
    lines = [line.rstrip() for output in outputs for line in _lines_of(output)]
    if len(lines) > LINES:
        lines = [*lines[: LINES // 2], "…", *lines[-LINES // 2 :]]
    return "\n".join(lines)


def _lines_of(output: Output) -> list[str]:
    """Return the lines of one output; none of stderr, which is no result, or of a widget."""
    data = output.get("data", {})
    if output.get("name") == "stderr" or WIDGET in data:
        return []
    text = "".join(output.get("text") or data.get("text/plain", ""))
    return text.strip("\n").split("\n") if text else []


def picture_of(outputs: list[Output]) -> tuple[str, bytes]:
    """Return the description and the file of the last picture that a cell showed."""
    shown = "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    alt, content = _PICTURE.findall(shown)[-1]
    return " ".join(html.unescape(alt).split()), b64decode(content)


def smaller(picture: bytes) -> bytes:
    """Return the picture with fewer colours."""
    from PIL import Image

    made = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(COLOURS).save(made, "PNG", optimize=True)
    return made.getvalue()


if __name__ == "__main__":
    main()
