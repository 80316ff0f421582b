"""What a job is on any cloud."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lesson import LessonError
from lesson.jobs.listing import as_table
from lesson.jobs.results import with_results
from lesson.jobs.runs import Run
from lesson.jobs.sending import check_pipeline, check_readable, explain_interrupts
from lesson.jobs.spec import Times, epochs_of
from lesson.jobs.watching import in_place

THEN = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECONDS = st.floats(0, 1e6)


@given(SECONDS, SECONDS)
def test_the_parts_of_a_jobs_time_are_all_of_it(queued: float, running: float) -> None:
    started = THEN + timedelta(seconds=queued)
    times = Times(THEN, started, started + timedelta(seconds=running))
    assert times.queue_seconds() + times.machine_seconds() == pytest.approx(
        times.seconds(), abs=1e-5
    )


def test_a_job_that_ended_in_the_queue_had_no_machines() -> None:
    times = Times(THEN, None, THEN + timedelta(seconds=5))
    assert (times.queue_seconds(), times.machine_seconds(), times.seconds()) == (5, 0, 5)


def test_a_job_that_goes_on_is_counted_until_now() -> None:
    begun = datetime.now(UTC) - timedelta(hours=1)
    assert 3600 <= Times(begun, begun, None).machine_seconds() < 7200


@pytest.mark.parametrize("value", ["data.npz", "/tmp/data.npz", "C:/data.npz", "https://x/y"])
def test_data_that_a_job_cannot_read_is_refused(value: str) -> None:
    with pytest.raises(LessonError, match=r"^--val .* cannot read; upload\(.*\) returns the s3://"):
        check_readable({"train": "s3://b/train.npz", "val": value}, "s3://")


def test_other_flags_may_hold_anything() -> None:
    check_readable({"train": "/gcs/b/x", "epochs": 3, "model_dir": "/tmp"}, "gs://", "/gcs/")


def test_a_pipeline_needs_a_table_and_sets_some_flags_itself(tmp_path: Path) -> None:
    (table := tmp_path / "table.csv").touch()
    check_pipeline({"epochs": 3}, table)
    with pytest.raises(
        LessonError, match=r"^none\.csv: no such file; name one that exists, seen from"
    ):
        check_pipeline({}, "none.csv")
    with pytest.raises(LessonError, match=r"^the pipeline sets val itself; leave it out of args$"):
        check_pipeline({"val": "x"}, table)


def test_an_interrupt_ends_the_watching_in_one_sentence() -> None:
    sentence = r"but j goes on: wait\('j'\) .* cancel\('j'\) ends it$"
    with pytest.raises(LessonError, match=sentence), in_place("j"):
        raise KeyboardInterrupt


def test_a_job_without_metrics_keeps_what_it_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run("SageMaker", "m", 1.0, None, None, "s3://b/x")
    finished = with_results(run, "j", Times(THEN, THEN, THEN), copy=tmp_path)
    assert finished.folder == tmp_path and finished.accuracy is None
    assert capsys.readouterr().out.startswith("j left no metrics.json")


def test_the_list_of_jobs_has_the_same_columns_on_every_cloud() -> None:
    rows: list[Any] = []
    assert list(as_table(rows)) == [
        "name", "state", "service_state", "created", "seconds", "replicas", "machine"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "epochs"), [({"epochs": "1e2"}, 100), ({"epochs": "many"}, None), ({}, None)]
)
def test_a_bar_has_an_end_only_if_the_epochs_are_a_number(
    flags: dict[str, str], epochs: int | None
) -> None:
    assert epochs_of(flags) == epochs


def test_a_mistyped_flag_is_said_beside_the_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = {"accuracy": 0.5, "loss": 1.0, "seconds": {"training": 1.0}}
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    log = "569 rows\nignored, not flags of this script: --epohcs 5\nepoch 1\n"
    (tmp_path / "training.log").write_text(log)
    run = Run("SageMaker", "m", 1.0, None, None, "s3://b/x")
    with_results(run, "j", Times(THEN, THEN, THEN), copy=tmp_path)
    assert capsys.readouterr().out == "ignored, not flags of this script: --epohcs 5\n"


def test_stops_that_nobody_watched_are_counted_from_the_results(tmp_path: Path) -> None:
    metrics: dict[str, Any] = {"accuracy": 0.5, "loss": 1.0, "seconds": {"training": 1.0}}
    metrics["epochs"] = {"last": 50, "best": 40, "resumed": [11, 31]}
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    run = Run("SageMaker", "m", 1.0, None, None, "s3://b/x")
    assert with_results(run, "j", Times(THEN, THEN, THEN), copy=tmp_path).interruptions == 2


def test_an_interrupt_while_a_job_is_sent_says_how_to_find_out_whether_it_arrived() -> None:
    with (
        pytest.raises(LessonError, match=r"list_jobs\(\) shows whether it arrived"),
        explain_interrupts(),
    ):
        raise KeyboardInterrupt
