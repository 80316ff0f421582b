"""Every check() of episode 02 rejects the blank and typical wrong answers."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from lesson.exercises import train_locally as exercises
from lesson.exercises.kinds import verdict
from lesson.jobs.runs import Run
from lesson.machines import this_machine
from lesson.preparation import prepare, read_passengers, split
from tests.lesson.contrast import contrast
from tests.lesson.exercise_rules import Answers, ExerciseRules
from training import train_nn

TRAIN, VAL = split(read_passengers(exercises.CSV))


RELU, DROPOUT = "nn.ReLU()", "nn.Dropout(0.2)"


def copies(folder: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """Copies of the script with dropout after each ReLU, and with other changes."""
    script = Path(train_nn.__file__).read_text(encoding="utf-8")
    contents = {
        "right": script.replace(RELU, f"{RELU}, {DROPOUT}"),
        "own_line": script.replace(f"{RELU}]\n", f"{RELU}]\n        layers.append({DROPOUT})\n"),
        "unchanged": script,
        "before": script.replace(RELU, f"{DROPOUT}, {RELU}"),
        "half": script.replace(RELU, f"{RELU}, nn.Dropout(0.5)"),
        "broken": script.replace(RELU, f"{RELU}, nn.Dropout(0.2"),
        "empty": "",
    }
    paths = {name: str(folder / name) for name in [*contents, "missing"]}
    for name, content in contents.items():
        Path(paths[name]).mkdir()
        Path(paths[name], "train_nn.py").write_text(content, encoding="utf-8")
    wrong = [
        (paths["unchanged"], "saved the file"),
        (paths["before"], "after each ReLU"),
        (paths["half"], "another share"),
        (paths["broken"], "SyntaxError"),
        (paths["empty"], "no build_model()"),
        (paths["missing"], "no train_nn.py in this folder"),
        ("nn.Dropout(0.2)", "no train_nn.py in this folder"),
    ]
    return [paths["right"], paths["own_line"]], wrong


ANSWERS: Answers = {
    "guess": (
        [0.622, 1 - VAL["Survived"].mean()],
        [
            (0.378, "survived"),
            (0.5, "coin"),
            (0.614, "of val_part"),  # that is the share of all 712
            (62.2, "between 0 and 1"),
            (0.7, "divide by all"),
            (VAL, "not DataFrame"),
            ("0.622 of them", "a number alone"),
        ],
    ),
    "fare_for_gaps": (
        [TRAIN["Fare"].median(), 13.8292],
        [
            (read_passengers(exercises.CSV)["Fare"].median(), "has influenced"),
            (VAL["Fare"].median(), "has influenced"),
            (TRAIN["Fare"].mean(), "over which rows"),
        ],
    ),
    "steps": (
        [9, 9.0, np.int64(9)],
        [(8, "512 rows"), (1, "64 rows"), (569, "64 rows"), (7, "divide"), (8.9, "whole number")],
    ),
    "flag": (
        ["--learning_rate", " --learning_rate=0.01", "--learning_rate 0.01"],
        [
            ("--learningrate", "ignored"),
            ("learning_rate", "two dashes"),
            ("--lr", "--help"),
            (0.01, "a text in quotes"),
        ],
    ),
    "functions": (
        [
            "build_model loss_of_each_row evaluate add_up_gradients fit",
            "build_model(), loss_of_each_row(), evaluate(), add_up_gradients(), fit()",
        ],
        [
            ("build_model evaluate", "5 names"),
            ("fit loss_of_each_row evaluate add_up_gradients fit", "layer after layer"),
            ("build_model score evaluate add_up_gradients fit", "outputs with y"),
            ("build_model loss_of_each_row score add_up_gradients fit", "no gradients"),
            ("build_model loss_of_each_row evaluate add_up fit", "backward() and optimizer.step"),
            ("build_model loss_of_each_row evaluate add_up_gradients main", "epoch after epoch"),
        ],
    ),
}


@pytest.fixture(scope="class")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A real run, which the exercise about its best epoch judges, and changed copies."""
    folder = tmp_path_factory.mktemp("run")
    data = prepare(exercises.CSV, folder)
    run = this_machine.train({"train": data.train, "val": data.val}, folder)
    best, last = run.metrics["epochs"]["best"], run.metrics["epochs"]["last"]
    wrong = [(last, "rows that the model has seen"), (best - 1, "counts from 0")]
    best_epoch = ([best, np.int64(best)], [*wrong, (1, "the dashed line")])
    changed = dataclasses.replace(run, loss=run.loss - 0.04)
    improved: tuple[list[float], list[tuple[float, str]]] = (
        [0.04, 0.0401],
        [(-0.04, "the other way round"), (changed.loss, "subtract")],
    )
    answers = {"best_epoch": best_epoch, "own_copy": copies(folder), "improved": improved}
    request.cls.answers = ANSWERS | answers
    request.cls.context = {"best_epoch": (run,), "improved": (run, changed)}
    return run


@pytest.mark.usefixtures("run")
class TestExercises(ExerciseRules):
    page = "02-train-locally.md"
    module = exercises

    def test_a_run_whose_files_are_gone_is_told_of(self, run: Run) -> None:
        gone = dataclasses.replace(run, artefacts="gone")
        assert "train again" in self.said("best_epoch", 5, gone)
        assert self.said("guess", 0.5, run).startswith("Not yet: call check() as")

    def test_a_copy_that_trains_like_the_original_has_no_change_yet(self, run: Run) -> None:
        assert "change the copy" in self.said("improved", 0, run, run)


def test_the_script_has_the_functions_in_the_sections_of_the_hint() -> None:
    script = Path(train_nn.__file__).read_text(encoding="utf-8")
    sections = script.split("\n# ---- ")
    counts = [
        number
        for name, _ in exercises.FUNCTIONS
        for number, section in enumerate(sections)
        if f"\ndef {name}(" in section
    ]
    assert counts == [1, 1, 2, 7, 2]
    assert "add_up_gradients(" in sections[2]


class Texts(HTMLParser):
    """The text of some HTML, without what is hidden from screen readers."""

    text = ""
    hidden = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.hidden = ("aria-hidden", "true") in attributes

    def handle_endtag(self, tag: str) -> None:
        self.hidden = False

    def handle_data(self, data: str) -> None:
        self.text += "" if self.hidden else data


@pytest.mark.parametrize("begin", verdict.STYLES)
def test_a_verdict_is_a_box_that_says_the_same_and_can_be_read(begin: str) -> None:
    told = f"{begin} 1 < 2 & <b>3</b>."
    shown = verdict.bundle(told)
    assert shown["text/plain"] == told
    texts = Texts()
    texts.feed(shown["text/html"])
    assert texts.text.strip() == told
    text, box = (hex_colour(colour) for colour in verdict.STYLES[begin][1:])
    assert contrast(text, box) >= 4.5


def hex_colour(colour: str) -> tuple[float, ...]:
    """The parts of a colour such as #0b4f1f."""
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))
