"""Runs on this machine, and the picture."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lesson
from lesson import LessonError
from lesson.jobs.runs import Run
from lesson.machines import this_machine
from lesson.preparation import Prepared, prepare
from lesson.show import plots

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(ROOT / "data/titanic_train.csv", tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def shown() -> io.StringIO:
    """What the run has printed."""
    return io.StringIO()


@pytest.fixture(scope="module")
def run(data: Prepared, shown: io.StringIO, tmp_path_factory: pytest.TempPathFactory) -> Run:
    flags = {"train": data.train, "val": data.val, "epochs": 20}
    with redirect_stdout(shown):
        return this_machine.train(flags, tmp_path_factory.mktemp("runs") / "first")


def test_a_run_says_where_what_how_long_and_how_good(run: Run) -> None:
    assert run.place == "this machine"
    assert run.machine == this_machine.describe()
    assert run.seconds > run.metrics["seconds"]["training"] > 0
    assert (run.accuracy, run.loss) == (run.metrics["accuracy"], run.metrics["loss"])
    assert (Path(run.artefacts) / "model.pt").exists()


def test_the_scripts_lines_are_shown(run: Run, shown: io.StringIO) -> None:
    assert shown.getvalue() == (run.folder / "training.log").read_text()


def test_a_refusal_is_the_scripts_own_sentence_said_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(
        LessonError, match=r"^train_nn.py: --train missing.npz: No such file or directory"
    ) as it:
        this_machine.train({"train": "missing.npz", "val": "missing.npz"}, tmp_path / "run")
    assert capfd.readouterr().out == ""
    assert it.value._render_traceback_() == [f"LessonError: {it.value}"]


def test_an_interrupted_run_is_stopped_and_said_in_words(
    data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    script = tmp_path / "train_nn.py"
    script.write_text("import time; print('epoch 1', flush=True); time.sleep(1000)")
    monkeypatch.setattr(this_machine, "SCRIPT", script)
    monkeypatch.setattr("builtins.print", interrupt)
    with pytest.raises(LessonError, match="interrupted"):
        this_machine.train({"train": data.train, "val": data.val}, tmp_path / "run")


def test_a_run_that_dies_is_not_said_to_have_refused(
    data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "train_nn.py"
    script.write_text("import os, signal; print('epoch 1', flush=True); os.kill(os.getpid(), 9)")
    monkeypatch.setattr(this_machine, "SCRIPT", script)
    with pytest.raises(LessonError, match=r"train_nn.py ended with code -9 before its results"):
        this_machine.train({"train": data.train, "val": data.val}, tmp_path / "run")


def test_no_run_overwrites_another() -> None:
    folders = {this_machine.new_folder("this-machine") for _ in range(5)}
    assert len(folders) == 5


def test_a_run_elsewhere_is_read_from_its_copy_here(run: Run) -> None:
    elsewhere = replace(run, artefacts="gs://bucket/runs/1", copy=Path(run.artefacts))
    assert elsewhere.metrics == run.metrics
    assert plots.learning_curve(elsewhere).path.parent == Path(run.artefacts)


def test_a_run_that_was_not_fetched_says_how_to_fetch_it(run: Run) -> None:
    with pytest.raises(LessonError, match=r"are at gs://bucket/runs/1, if it has ended; wait\(run"):
        _ = replace(run, artefacts="gs://bucket/runs/1").metrics


def test_the_picture_lies_beside_the_run_and_is_told_in_words(run: Run) -> None:
    picture = plots.learning_curve(run)
    assert picture.path == Path(run.artefacts) / "learning_curve.png"
    assert picture.path.read_bytes().startswith(b"\x89PNG")
    assert picture.alt.startswith("Learning curve over 20 epochs: the training loss falls from 0.")
    best = run.metrics["epochs"]["best"]
    assert f"lowest in epoch {best} with {run.loss:.2f}" in picture.alt
    assert f'alt="{picture.alt}"' in picture._repr_html_()


def test_the_picture_marks_where_an_interrupted_run_resumed(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "interrupted"
    shutil.copytree(run.folder, copy)
    metrics = run.metrics
    metrics["epochs"]["resumed"] = [7, 12, 15]
    (copy / "metrics.json").write_text(json.dumps(metrics))
    marked = plots.learning_curve(replace(run, artefacts=str(copy)))
    assert marked.alt.endswith("; interrupted, the run resumed in epoch 7, 12 and 15.")
    metrics["epochs"]["resumed"] = [7]
    (copy / "metrics.json").write_text(json.dumps(metrics))
    once = plots.learning_curve(replace(run, artefacts=str(copy)))
    assert once.alt.endswith("; interrupted, the run resumed in epoch 7.")


def test_intervals_are_drawn_with_the_least_loss_of_each_situation(tmp_path: Path) -> None:
    lost = {
        "small": lambda seconds: 36 / seconds + seconds / 100,
        "large": lambda seconds: 36000 / seconds + seconds / 100,
    }
    picture = plots.intervals(lost, tmp_path / "a/intervals.png")
    assert picture.path.read_bytes().startswith(b"\x89PNG")
    assert "small: 36 s at one second, least at 59.9 s with 1 s, 144 s at four hours" in picture.alt
    assert "least at 1900 s" in picture.alt


def test_a_run_without_results_is_said_in_words(tmp_path: Path) -> None:
    empty = Run("this machine", "", 1.0, 0.8, 0.4, str(tmp_path))
    with pytest.raises(LessonError, match=r"metrics.json: .*did the run end without an error\?"):
        _ = empty.metrics


@pytest.mark.parametrize("value", ["local", "cloud"])
def test_the_opening_shows_the_target(
    value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LESSON_TARGET", value)
    monkeypatch.chdir("/")
    lesson.opening()
    assert Path.cwd() == lesson.ROOT
    assert capsys.readouterr().out.startswith(f"LESSON_TARGET={value}: ")


def test_another_target_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LESSON_TARGET", "moon")
    monkeypatch.chdir("/")  # and back again after the test
    with pytest.raises(LessonError, match="set it to local or cloud"):
        lesson.opening()


def test_two_variables_that_contradict_each_other_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.setenv("LOCAL_CLOUD_TARGET", "local")
    with pytest.raises(LessonError, match=r"'local' and LESSON_TARGET is 'cloud': .* unset one"):
        lesson.target()


def test_runs_side_by_side_are_drawn_and_told_in_words(run: Run, tmp_path: Path) -> None:
    sent = Run(
        "SageMaker", "ml.m5.xlarge", 7.5, 0.8, 0.4, "s3://b/runs/1", 2, 0.5, 6.0, 1.0, 0.0009
    )
    picture = plots.comparison([run, sent, replace(sent, cost=None)], tmp_path / "a/times.png")
    assert picture.path.read_bytes().startswith(b"\x89PNG")
    here, there, free = picture.alt.removeprefix("Seconds of each run: ").split("; ")
    assert here.startswith("this machine, × 1: starting ") and "queued" not in here
    assert there == (
        "SageMaker, × 2: queued 0.5, starting 6.0, training 1.0, about $0.00090, accuracy 0.80"
    )
    assert free.endswith("training 1.0, accuracy 0.80.")


def test_a_run_that_has_not_ended_has_no_bar_and_no_numbers(tmp_path: Path) -> None:
    sent = Run("SageMaker", "ml.m5.xlarge", None, None, None, "s3://b/runs/1")
    assert plots.comparison([sent], tmp_path / "times.png").alt.endswith("× 1: not known.")


def test_what_replicas_held_is_drawn_and_told_in_words(tmp_path: Path) -> None:
    def replica(rank: int, size: int) -> dict[str, Any]:
        return {"rank": rank, "bytes": {"parameters": size, "optimiser": 2 * size}}

    held = {"one": [replica(0, 10**6)], "two": [replica(0, 510_000), replica(1, 490_000)]}
    picture = plots.memory(held, tmp_path / "a/memory.png")
    assert picture.path.read_bytes().startswith(b"\x89PNG")
    assert picture.alt == (
        "Megabytes in each replica: one: parameters 1.00, optimiser 2.00; two, replica 0: "
        "parameters 0.51, optimiser 1.02; two, replica 1: parameters 0.49, optimiser 0.98."
    )
