"""The table of runs, as a data frame and as a notebook shows it."""

from __future__ import annotations

import re
from dataclasses import replace

from lesson.jobs.runs import Run
from lesson.show.run_table import run_table

COLUMNS = [
    "place", "machine", "replicas", "queued", "starting", "training", "seconds", "cost",
    "accuracy", "loss", "artefacts",
]  # fmt: skip
HERE = Run(
    "this machine",
    "x86_64, 2 cores",
    seconds=1.6123,
    score=0.84615,
    loss=0.3864,
    artefacts="runs/1",
    starting=1.4901,
    training=0.1222,
)


def test_the_table_has_a_row_for_each_run() -> None:
    table = run_table([HERE, HERE])
    assert list(table.columns) == COLUMNS
    assert table["accuracy"].tolist() == [0.8462] * 2


def test_the_table_is_blank_where_nothing_is_known() -> None:
    queued = Run("Vertex AI", "n1-standard-4", None, None, None, "gs://b/runs/1", replicas=2)
    ended = replace(queued, seconds=61.23, queued=5.0, starting=50.03, training=6.2, cost=0.007411)
    here, later, there = run_table([HERE, queued, ended]).to_dict("records")
    assert (here["queued"], here["cost"]) == ("", "")
    assert (here["seconds"], here["starting"], here["training"]) == (1.61, 1.49, 0.12)
    assert [name for name in COLUMNS if later[name] == ""] == [
        "queued", "starting", "training", "seconds", "cost", "accuracy", "loss",
    ]  # fmt: skip
    assert (there["replicas"], there["seconds"], there["cost"]) == (2, 61.23, 0.0074)


def test_a_score_has_the_name_that_the_script_gives_it() -> None:
    value = replace(HERE, score=0.4567, score_name="r2")
    assert list(run_table([value]).columns) == [name.replace("accuracy", "r2") for name in COLUMNS]
    both = run_table([HERE, value])
    assert both[["accuracy", "r2"]].values.tolist() == [[0.8462, ""], ["", 0.4567]]


def test_less_of_an_error_is_better() -> None:
    runs = [replace(HERE, score=score, score_name="mean_absolute_error") for score in (41.2, 44.0)]
    shown = run_table(runs)[["mean_absolute_error"]]._repr_html_()
    assert re.findall(r"<td[^>]*>([\d.]+) <span", shown) == ["41.2000"]


def test_runs_of_different_code_have_a_column_that_says_so() -> None:
    runs = [
        replace(HERE, code="training", digest="1111111"),
        replace(HERE, code="copy", digest="2222222"),
    ]
    assert run_table(runs)["code"].tolist() == ["training 1111111", "copy 2222222"]
    found_by_name, running = replace(HERE, digest="1111111"), replace(HERE, code="training")
    assert "code" not in run_table([runs[0], found_by_name, running, HERE]).columns


def test_a_notebook_shows_the_table_with_units_and_marks_the_best() -> None:
    fast = Run("here", "x < y", 1.5, 0.8, 0.4, "runs/1", training=0.5)
    good = replace(fast, seconds=20.0, score=0.9, loss=0.3, cost=0.0074)
    shown = run_table([fast, good])._repr_html_()
    cells = re.findall(r"<td[^>]*>(.*?)</td>", shown)
    marked = [cell.partition(" <")[0] for cell in cells if "★" in cell]
    assert marked == ["1.50 s", "0.9000", "0.3000"]  # of the cost, one is not known
    assert "x &lt; y" in cells and "$0.0074" in cells and "0.50 s" in cells
    assert '<td style="text-align: right">1</td>' in shown
    assert shown.endswith("<div>★ the best of its column</div>")
    assert "★" not in run_table([good])._repr_html_()
    assert "artefacts" not in run_table([fast, good]).drop(columns="artefacts")._repr_html_()


def test_a_terminal_shows_as_many_columns_as_fit() -> None:
    table = run_table([HERE, replace(HERE, place="SageMaker (local cloud)", cost=0.0002)])
    assert len(table.as_text().split("\n")[0]) > 80
    narrow = table.as_text(80).split("\n")
    assert max(map(len, narrow)) <= 80
    assert narrow[0].split() == ["place", "machine", "replicas", "seconds", "cost", "accuracy"]
