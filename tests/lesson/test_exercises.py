"""Every check() of episode 02 rejects the blank and typical wrong answers."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as losses

from lesson import this_machine
from lesson.exercises import train_locally as exercises
from lesson.exercises import verdict
from lesson.preparation import prepare, read_passengers, split
from lesson.runs import Run
from tests.lesson.contrast import contrast
from tests.lesson.exercise_rules import Answers, ExerciseRules
from training import train_nn

TRAIN, VAL = split(read_passengers(exercises.CSV))


def tanh_model(features: int, hidden: list[int], seed: int) -> torch.nn.Sequential:
    """The network of the script with Tanh."""
    layers = train_nn.build_model(features, hidden, seed)
    return torch.nn.Sequential(
        *(torch.nn.Tanh() if isinstance(each, torch.nn.ReLU) else each for each in layers)
    )


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
            (read_passengers(exercises.CSV)["Fare"].median(), "has a say"),
            (VAL["Fare"].median(), "has a say"),
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
    "network": (
        [tanh_model, lambda *flags: tanh_model(7, [64, 32], 0)],
        [
            (train_nn.build_model, "with ReLU"),
            (lambda *flags: tanh_model(7, [64, 32], 1), "the seed too"),
            (lambda *flags: 0.5, "not a network"),
            (lambda *flags: None, "returns nothing"),
            (tanh_model(7, [64, 32], 0), "raises"),
            (0.5, "a function"),
        ],
    ),
    "loss": (
        [lambda z, y: losses(z, y, pos_weight=torch.tensor(2.0))],
        [
            (losses, "count alike"),
            (lambda z, y: losses(z, 1 - y, pos_weight=torch.tensor(2.0)), "did not survive"),
            (lambda z, y: losses(z, y, pos_weight=torch.tensor(3.0)), "pos_weight of 2"),
            (lambda z, y: losses(z, y, reduction="none"), "not a number"),
        ],
    ),
    "data": (
        [lambda X: np.column_stack([X, X[:, 3] + X[:, 4]]), lambda X: np.c_[X, X[:, 3:5].sum(1)]],
        [
            (lambda X: X, "still seven"),
            (lambda X: np.column_stack([X, X]), "(3, 14)"),
            (lambda X: np.column_stack([X[:, 3] + X[:, 4], X]), "comes last"),
            (lambda X: np.column_stack([X, X[:, 4] + X[:, 5]]), "3 and 4"),
            (lambda X: X.missing, "AttributeError"),
        ],
    ),
}


@pytest.fixture(scope="class")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A real run; the exercise about its best epoch is told of it."""
    folder = tmp_path_factory.mktemp("run")
    data = prepare(exercises.CSV, folder)
    run = this_machine.train({"train": data.train, "val": data.val}, folder)
    best, last = run.metrics["epochs"]["best"], run.metrics["epochs"]["last"]
    wrong = [(last, "rows that the model has seen"), (best - 1, "counts from 0")]
    best_epoch = ([best, np.int64(best)], [*wrong, (1, "the dashed line")])
    request.cls.answers = ANSWERS | {"best_epoch": best_epoch}
    request.cls.context = {"best_epoch": (run,)}
    return run


@pytest.mark.usefixtures("run")
class TestExercises(ExerciseRules):
    page = "02-train-locally.md"
    module = exercises

    def test_a_run_whose_files_are_gone_is_told_of(self, run: Run) -> None:
        gone = dataclasses.replace(run, artefacts="gone")
        assert "train again" in self.said("best_epoch", 5, gone)
        assert self.said("guess", 0.5, run).startswith("Not yet: call check() as")


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
