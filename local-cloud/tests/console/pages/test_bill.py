"""The bill: by job, study and endpoint, under their senders' names, with the price in front."""

from __future__ import annotations

import re

from testing.visitor import Visitor
from tests.console.filled_cloud import Filled


def part(page: str, title: str) -> str:
    """What a part of the bill shows."""
    return page.partition(f"<h2>{title}: $")[2].partition("</section>")[0]


def test_what_was_used_is_grouped_under_the_names_that_were_sent(
    filled: Filled, visitor: Visitor
) -> None:
    page = visitor.get("/console/bill").text
    jobs, tuning, endpoints = (part(page, name) for name in ("Jobs", "Tuning", "Endpoints"))
    assert re.findall(r'<th scope="row"><a[^>]+>([^<]+)<', jobs) == [
        "titanic-nn-sagemaker",
        "titanic-nn",
    ]
    assert re.search(r"titanic-tuning</a>.*?<summary>6 items ", tuning, re.S)
    assert "titanic-tuning-trial-1" in tuning
    assert "titanic-model_endpoint" in endpoints
    assert f"jobs/{filled.job}" in jobs and "study?name=projects" in tuning


def test_subtotals_are_the_sums_of_what_is_below(filled: Filled, visitor: Visitor) -> None:
    tuning = part(visitor.get("/console/bill").text, "Tuning")
    subtotal = tuning.partition("<")[0]
    group, *trials = map(float, re.findall(r'<td class="right">([\d.]+)</td>', tuning))
    assert float(subtotal) == group and len(trials) == 6
    assert abs(sum(trials) - group) < 0.001, "but for rounding"


def test_the_price_comes_second_and_times_are_in_seconds(filled: Filled, visitor: Visitor) -> None:
    page = visitor.get("/console/bill").text
    for heads in re.findall(r'class="rows bill">.*?<thead>(.*?)</thead>', page, re.S):
        assert re.findall(r">([^<]+)</th>", heads)[:2] == ["What", "Price, $"]
    jobs = part(page, "Jobs")
    assert ">30.0 s</td>" in jobs, "Vertex AI bills half a minute at least"
    assert " hours" not in jobs and "0.218499 an hour" in jobs


def test_sources_are_folded(filled: Filled, visitor: Visitor) -> None:
    page = visitor.get("/console/bill").text
    folded = page.partition("Where the prices are from</summary>")[2]
    assert re.search(
        r'row">n1-standard-4, Vertex AI</th><td>0.218499 an hour</td><td><code>', folded
    )
    assert "https://" in folded and "https://" not in page.partition('id="sources"')[0]


def test_a_new_part_comes_to_a_page_that_is_open(filled: Filled, visitor: Visitor) -> None:
    page = visitor.get("/console/bill").text
    live = page.partition('<div data-live id="parts">')[2]
    assert live.index("<h2>Jobs: ") < live.index("<h2>Tuning: "), "all parts are in one live part"
