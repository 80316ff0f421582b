"""The list of jobs: results and costs as columns, sorted by links, with trials and tasks folded."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urlsplit

import pytest

from testing.visitor import Answer, Visitor
from tests.console.filled_cloud import Filled

ROW = re.compile(r"<tr>(.*?)</tr>", re.S)
CELL = re.compile(r"<t[hd][^>]*>(.*?)</t[hd]>", re.S)


def rows(page: Answer) -> dict[str, list[str]]:
    """The cells of each row that is not folded, by its name; a cell's first line only."""
    cells_of = {}
    for row in ROW.findall(page.text)[1:]:
        cells = [re.sub("<[^>]+>", "", one.partition("<small>")[0]) for one in CELL.findall(row)]
        cells_of[unescape(cells[1])] = [unescape(each).strip() for each in cells]
    return cells_of


def test_results_machine_and_cost_are_columns(filled: Filled, visitor: Visitor) -> None:
    cells_of = rows(visitor.get("/console/jobs"))
    assert cells_of["titanic-nn"][3:5] == ["0.8180", "0.3973"]
    assert cells_of["titanic-nn"][7] == "n1-standard-4"
    assert 0 < float(cells_of["titanic-nn"][5]) < 0.01, "half a minute of it costs about 0.002 $"
    assert cells_of["titanic-nn-sagemaker"][3:5] == ["0.8000", "0.5000"]
    assert cells_of["titanic-nn-sagemaker"][7] == "ml.m5.large"


def test_trials_are_folded_into_the_row_of_their_study(filled: Filled, visitor: Visitor) -> None:
    page = visitor.get("/console/jobs")
    assert set(rows(page)) == {"titanic-nn", "titanic-nn-sagemaker", "titanic-tuning"}
    assert "8 of 8 jobs" in page and page.text.count('<tr class="part">') == 6
    assert re.search(r"<summary>6 trials <", page.text)
    study = visitor.get(f"/console/study?name={filled.study}").text
    (best,) = re.findall(r"<dt>Best</dt><dd>([\d.]+), trial", study)
    assert rows(page)["titanic-tuning"][3] == best, "the best of them, as they reported it"


@pytest.mark.parametrize("column", ["Accuracy", "Loss", "Cost, $", "Ran for", "Machine", "Job"])
def test_a_link_in_each_head_sorts_by_it_in_both_directions(
    filled: Filled, visitor: Visitor, column: str
) -> None:
    def follow(page: Answer) -> Answer:
        (link,) = re.findall(rf'<a href="([^"]+)">{re.escape(column)}<', page.text)
        return visitor.get("/console/jobs" + unescape(link))

    first = follow(visitor.get("/console/jobs?cloud=&q=titanic"))
    second = follow(first)
    place = ["", "Job", "State", "Accuracy", "Loss", "Cost, $", "Ran for", "Machine"].index(column)
    orders = []
    for page in (first, second):
        (order,) = re.findall(rf'aria-sort="(\w+)"><a href="[^"]+">{re.escape(column)}<', page.text)
        orders.append(order)
        values = [row[place].removeprefix("< ") for row in rows(page).values()]
        known = [value for value in values if value != "–"]
        if column not in ("Machine", "Job"):
            known = sorted(known, key=lambda value: float(value.split()[0]))
        else:
            known = sorted(known)
        expected = known[::-1] if order == "descending" else known
        assert values == [*expected, *["–"] * (len(values) - len(known))], "unknown ones come last"
    assert set(orders) == {"ascending", "descending"}


def test_the_order_survives_the_next_filter_and_the_next_page(
    filled: Filled, visitor: Visitor
) -> None:
    page = visitor.get("/console/jobs?sort=loss&order=descending&cloud=vertex")
    assert '<input type="hidden" name="sort" value="loss">' in page
    assert urlsplit(unescape(re.findall(r'<a href="(\?[^"]+)">Job<', page.text)[0])).query == (
        "cloud=vertex&sort=name&order=ascending"
    )
    assert "titanic-nn-sagemaker" not in rows(page)
    assert visitor.get("/console/jobs?sort=none&order=none").status == 200
