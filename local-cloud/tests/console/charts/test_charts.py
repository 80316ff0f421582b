"""Charts: where points lie, on both scales, as they are and smoothed; what is said of each."""

from __future__ import annotations

import pytest
from starlette.datastructures import QueryParams

from local_cloud.console.charts import charts, scales
from local_cloud.console.charts.looks import Look, smooth, smoothings


def test_a_line_says_of_each_of_its_points_what_it_is() -> None:
    chart = charts.lines("Loss", {"loss": [(1, 0.5), (2, 0.25)]})
    assert chart
    (line,) = chart.lines
    assert (line.at, line.values, line.smoothed) == ("1 2", "0.5000 0.2500", "")
    assert len(line.points.split()) == 2


def test_epochs_are_whole_numbers_on_their_axis() -> None:
    chart = charts.lines("Loss", {"loss": [(1, 0.5), (3, 0.25)]})
    assert chart and [tick.text for tick in chart.across] == ["1", "2", "3"]


def test_equal_ratios_are_equally_far_apart_on_a_log_scale() -> None:
    series = {"loss": [(1.0, 1.0), (2.0, 0.1), (3.0, 0.01)], "zero": [(1.0, 0.0)]}
    chart = charts.lines("Loss", series, look=Look(log=True))
    assert chart and [tick.text for tick in chart.up] == ["0.01", "0.1", "1"]
    assert [line.name for line in chart.lines] == ["loss"]
    first, second, third = (float(one.split(",")[1]) for one in chart.lines[0].points.split())
    assert second - first == pytest.approx(third - second, abs=0.2)


def test_without_a_value_above_zero_the_scale_stays_linear() -> None:
    chart = charts.lines("Loss", {"loss": [(1, -1.0), (2, 0.0)]}, look=Look(log=True))
    assert chart and len(chart.lines[0].points.split()) == 2


@pytest.mark.parametrize(
    ("low", "high"), [(0.31, 0.69), (0.5, 0.5), (1e-30, 1e30), (0.9, 1.1), (3, 2000)]
)
def test_a_log_scale_has_some_ticks_inside_its_ends(low: float, high: float) -> None:
    scale = scales.of_numbers([low, high], log=True)
    assert 2 <= len(scale.ticks) <= 6
    assert all(-1e-6 <= share <= 1 + 1e-6 for share, _ in scale.ticks)


def test_choices_are_the_ticks_of_their_axis() -> None:
    scale = scales.of_choices([16, 32, 128])
    assert scale.ticks == [(0, "16"), (0.5, "32"), (1, "128")]
    assert scale.share(32) == 0.5


def test_smoothing_begins_at_the_first_value_and_keeps_what_is_constant() -> None:
    assert smooth([0.5] * 4, 0.9) == pytest.approx([0.5] * 4)
    # (0.6 · 0.4 · 1 + 0.4 · 2) / (1 - 0.6²)
    assert smooth([1.0, 2.0], 0.6) == pytest.approx([1.0, 1.04 / 0.64])
    chart = charts.lines("Loss", {"loss": [(1, 1.0), (2, 2.0)]}, look=Look(smoothing=0.6))
    assert chart and chart.lines[0].values == "1 2" and chart.lines[0].smoothed == "1 1.6250"
    assert chart.lines[0].behind != chart.lines[0].points


def test_a_line_keeps_its_colour_in_a_chart_that_lacks_the_one_before() -> None:
    points = [(1, 0.5), (2, 0.25)]
    both = charts.lines("Loss", {"one": points, "two": points}, colours=["one", "two"])
    alone = charts.lines("Accuracy", {"two": points}, colours=["one", "two"])
    assert both and [line.colour for line in both.lines] == [0, 1]
    assert alone and [line.colour for line in alone.lines] == [1]


def test_a_look_is_read_from_the_query_and_kept_in_the_links_to_others() -> None:
    query = QueryParams("job=a/b&job=c&scale=log&smoothing=0.9")
    assert Look.of(query) == Look(log=True, smoothing=0.9)
    assert Look.of({"scale": "x", "smoothing": "nan"}) == Look()
    none, first, *_ = smoothings(query, "curves")
    assert none.href == "?job=a%2Fb&job=c&scale=log#curves" and not none.current
    assert first.href == "?job=a%2Fb&job=c&scale=log&smoothing=0.6#curves"
