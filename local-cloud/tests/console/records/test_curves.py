"""Learning curves from logs: what training scripts print, read once and then as it grows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from local_cloud.console.charts import charts
from local_cloud.console.records import curves as module
from local_cloud.console.records.curves import Curves

LINES = {
    "epoch     1  loss 0.6900  validation loss 0.6800  accuracy 0.5500  0.1 s": {
        "loss": 0.69,
        "validation loss": 0.68,
        "accuracy": 0.55,
    },
    "Epoch 1/5 - loss: 0.52 - val_loss: 6.1e-01 - acc: 0.8": {
        "loss": 0.52,
        "val_loss": 0.61,
        "acc": 0.8,
    },
    "[epoch 1] train:loss=0.5 validation:loss=-0.25": {
        "train:loss": 0.5,
        "validation:loss": -0.25,
    },
    "INFO:root:Epoch: 1, Loss = 0.5, lr 1e-3": {"loss": 0.5, "lr": 0.001},
    "epoch one loss 0.5": {},
    "loss 0.5": {},
    "epoch 1 loss nan": {},
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_with_an_epoch_gives_a_point_of_each_metric(tmp_path: Path, line: str) -> None:
    log = tmp_path / "log"
    log.write_text(line + "\n")
    values = {name: points[0][1] for name, points in Curves().of(log).items()}
    assert values == LINES[line]


def test_a_curve_goes_on_where_it_was_read_and_begins_anew_with_a_new_log(tmp_path: Path) -> None:
    log, curves = tmp_path / "log", Curves()
    assert curves.of(log) == {}
    log.write_text("epoch 1 loss 0.5\nepoch 2 lo")
    assert curves.of(log) == {"loss": [(1, 0.5)]}
    with log.open("a") as file:
        file.write("ss 0.4\n")
    assert curves.of(log) == {"loss": [(1, 0.5), (2, 0.4)]}
    log.unlink()
    log.write_text("epoch 1 loss 0.9\n")
    assert curves.of(log) == {"loss": [(1, 0.9)]}


@pytest.mark.parametrize(
    "line", ["epoch 1 " + "a" * 10**6, "epoch 1 " + "a " * 10**5, "epoch" * 10**5, "\0epoch 1 \xff"]
)
def test_no_line_takes_long_or_breaks_it(tmp_path: Path, line: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(line.encode("latin-1") + b"\nepoch 2 loss 0.5\n")
    assert Curves().of(log)["loss"] == [(2, 0.5)]


def test_holes_are_not_read(tmp_path: Path) -> None:
    """Of 4 TiB: reading them would take an hour."""
    log, curves = tmp_path / "log", Curves()
    log.write_text("epoch 1 loss 0.5\n")
    for epoch in (2, 3):
        os.truncate(log, (epoch - 1) * 2 << 40)
        with log.open("a") as file:
            file.write(f"\nepoch {epoch} loss 0.5\n")
        assert [point[0] for point in curves.of(log)["loss"]] == [*range(1, epoch + 1)]


def test_a_curve_has_so_many_points_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_POINTS", 100)
    log = tmp_path / "log"
    log.write_text("".join(f"epoch {n} loss 0.5\n" for n in range(1, 451)))
    epochs = [epoch for epoch, _ in Curves().of(log)["loss"]]
    assert 50 <= len(epochs) <= 100 and epochs == sorted(epochs)
    assert epochs[0] == 1 and epochs[-1] > 440


@pytest.mark.parametrize(
    "points",
    [[(1.0, 0.5)], [(1.0, 0.5), (2.0, 0.5)], [(0.0, -1e30), (1e9, 1e30)], [(1.0, 0.0)] * 9],
)
def test_any_points_make_a_chart_inside_its_frame(points: Any) -> None:
    chart = charts.lines("Loss", {"loss": points})
    assert chart and 2 <= len(chart.up) <= 6
    for pair in chart.lines[0].points.split():
        x, y = map(float, pair.split(","))
        assert chart.left <= x <= chart.right and chart.top <= y <= chart.bottom
    assert charts.lines("Loss", {}) is None
