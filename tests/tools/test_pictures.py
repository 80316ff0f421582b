"""The pictures of the console are those that its page shows, and can be taken again."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from testing.browser import find
from tools.pages.folder import ROOT
from tools.pictures import __main__ as pictures

FIG = ROOT / "episodes" / "fig"
LARGEST = 60_000  # bytes of a picture
MADE = pictures.Made(bucket="lesson", job="1", results="runs/1/", endpoint="endpoints/2")
TAKE = """
import sys
from pathlib import Path
from tools.pictures import __main__ as pictures
pictures.PICTURES = Path(sys.argv[1])
pictures.main()
"""


def test_the_tour_shows_each_picture_that_is_taken() -> None:
    taken = [f"{view.name}.png" for view in pictures.views(MADE)]
    page = (ROOT / "learners" / "console.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\(\.\./episodes/fig/(.*?)\)\{alt=", page) == taken
    assert sorted(path.name for path in FIG.glob("console-*.png")) == sorted(taken)


@pytest.mark.parametrize("path", sorted(FIG.glob("console-*.png")), ids=lambda path: path.stem)
def test_a_picture_of_the_console_is_a_small_file(path: Path) -> None:
    assert path.stat().st_size < LARGEST


@pytest.mark.slow
def test_the_pictures_are_taken_of_jobs_that_really_run(tmp_path: Path) -> None:
    if find() is None:
        pytest.skip("no Chromium or Chrome is installed; name one in the variable CHROMIUM")
    subprocess.run([sys.executable, "-c", TAKE, str(tmp_path)], cwd=ROOT, check=True, timeout=600)
    for view in pictures.views(MADE):
        with Image.open(tmp_path / f"{view.name}.png") as picture:
            assert picture.mode == "P" and picture.width > 800 and picture.height > 200
