"""What the notebooks would cost on the real services, as the instructor notes tell it.

`pytest tests/lesson/test_day_costs.py` runs every notebook with its solutions, each on a local
cloud of its own, and counts the jobs that it has sent. A machine of a job, and of each trial of a
study, is calculated with the seconds that one job was billed in November 2024 (episode 07).
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from unittest import mock

import nbclient
import nbformat
import pytest

import local_cloud
from tools.copies import copy

ROOT = Path(__file__).parents[2]
NOTES = (ROOT / "instructors" / "instructor-notes.md").read_text(encoding="utf-8")
COSTS = NOTES.partition("{#cost}")[2].partition("\n## ")[0]
BILLED = 135  # seconds
EPISODES = sorted(path.name[:2] for path in (ROOT / "episodes").glob("*.md"))

ROW = re.compile(r"^\| (\d\d) \| (\d+) \| ([\d.]+) \| (\d+) \| ([\d.]+) \|$", re.MULTILINE)
DAY = re.compile(
    r"^\| (Google|Amazon) \| (\d+) \| ([\d.]+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE
)
COUNT = f"""
import json
import AWS_helpers, GCP_helpers
from lesson.money.costs import bill
counted = []
for helpers in (GCP_helpers, AWS_helpers):
    helpers.connect()
    jobs = bill(helpers.list_jobs().assign(seconds=0.0), helpers.estimate_cost, ready={BILLED})
    assert jobs["dollars"].notna().all()
    counted += [len(jobs), jobs["dollars"].sum()]
print(json.dumps(counted))
"""


def said() -> dict[str, tuple[int, float, int, float]]:
    """The notes' table: jobs and dollars on Vertex AI, and on SageMaker, for each episode."""
    return {
        number: (int(jobs), float(usd), int(others), float(more))
        for number, jobs, usd, others, more in ROW.findall(COSTS)
    }


def sent(notebook: Path, home: Path) -> list[float]:
    """The same as one notebook sends them, counted before it deletes anything."""
    copy(ROOT, home / "lesson")
    book = nbformat.read(notebook, as_version=4)
    deleting = [
        at
        for at, cell in enumerate(book.cells)
        if cell.cell_type == "code" and "cleanup(dry_run=False)" in cell.source
    ]
    book.cells = book.cells[: deleting[-1]] if deleting else book.cells
    book.cells.append(nbformat.v4.new_code_cell(COUNT))
    folder = home / "lesson" / notebook.relative_to(ROOT).parent
    with mock.patch.dict(os.environ, LOCAL_CLOUD_HOME=str(home / "local-cloud")):
        try:
            where = {"metadata": {"path": str(folder)}}
            nbclient.NotebookClient(
                book, timeout=300, kernel_name="python3", resources=where
            ).execute()
        finally:
            local_cloud.stop()
    printed = "".join(out.text for out in book.cells[-1].outputs if out.get("name") == "stdout")
    numbers: list[float] = json.loads(printed.splitlines()[-1])
    return numbers


def test_every_episode_has_its_row() -> None:
    assert sorted(said()) == EPISODES


def test_a_day_is_the_sum_of_its_episodes() -> None:
    days = DAY.findall(COSTS)
    assert [day[0] for day in days] == ["Google", "Amazon"]
    for day, *numbers in days:
        schedule = NOTES.partition(f"{{#{day.lower()}-day}}")[2].partition("\n#")[0]
        rows = [said()[number] for number in re.findall(r"\| (\d\d) [^|]+\| \d+ \|", schedule)]
        sums = [sum(column) for column in zip(*rows, strict=True)]
        together = sums[1] + sums[3]
        assert [float(number) for number in numbers] == pytest.approx([*sums, together], abs=0.0005)


@pytest.mark.slow
@pytest.mark.parametrize("number", EPISODES)
def test_the_notebooks_send_what_the_table_says(number: str) -> None:
    (notebook,) = (ROOT / "notebooks" / "instructor").glob(f"{number}-*.ipynb")
    with tempfile.TemporaryDirectory() as folder:
        jobs, usd, others, more = sent(notebook, Path(folder))
    row = f"| {number} | {jobs:.0f} | {usd:.3f} | {others:.0f} | {more:.3f} |"
    assert row in COSTS.splitlines()
