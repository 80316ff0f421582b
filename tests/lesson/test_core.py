"""A page's core runs without its optional sections and with no exercise answered.

`pytest -m slow tests/lesson/test_core.py` runs each page that has such sections, in a local cloud
of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lesson.learner_cells import live_cells, run_cells
from tools.pages.folder import read_page
from tools.pages.pace import split

ROOT = Path(__file__).parents[2]
PAGES = [path for path in (ROOT / "episodes").glob("*.md") if split(read_page(path).blocks)[1]]
LEFT = """
import AWS_helpers, GCP_helpers
for helpers in (GCP_helpers, AWS_helpers):
    helpers.connect()
    print(*helpers.list_jobs()["state"])
"""


def cells(page: Path) -> list[str]:
    """The live cells of a page's core as learners have them."""
    return live_cells(split(read_page(page).blocks)[0])


def test_many_pages_have_optional_sections_and_the_core_leaves_them_out() -> None:
    assert {page.name[:2] for page in PAGES} >= {"07", "08", "09", "11", "12", "13"}
    assert not any("fully_shard" in cell for cell in cells(ROOT / "episodes/09-parallelism.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.stem)
def test_the_core_runs_unanswered_and_leaves_no_job_running(page: Path) -> None:
    states = run_cells([*cells(page), LEFT])
    assert not {"running", "starting", "queued"} & set(states.split())
