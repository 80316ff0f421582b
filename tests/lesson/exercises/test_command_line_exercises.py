"""Every check() of episode 18 rejects the blank and typical wrong answers."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from lesson.exercises import command_line as exercises
from lesson.setup import programs
from tests.lesson.exercise_rules import Answers, ExerciseRules


def record(*flags: str) -> dict[str, Any]:
    return {"jobSpec": {"workerPoolSpecs": [{"pythonPackageSpec": {"args": [*flags]}}]}}


ANSWERS: Answers = {
    "which": (
        ["BACB", "b, a, c, b"],
        [
            ("AACB", "first case"),
            ("BBCB", "second case"),
            ("BAAB", "third case"),
            ("BACA", "fourth case"),
            ("BAC", "four letters"),
        ],
    ),
    "needs": (
        ["ACD", "d, a, c"],
        [
            ("ABCD", "of B"),
            ("ACDE", "of E"),
            ("CD", "of A"),
            ("AD", "of C"),
            ("AC", "of D"),
            ("F", "letters from A to E"),
        ],
    ),
    "epochs": (
        [["--epochs=5"], ("--epochs 5",), "--epochs=5"],
        [
            (["--train=gs://b/t.npz", "--epochs=50"], "counts more"),
            (["--train=gs://b/t.npz", "--epochs=50", "--epochs=5"], "not joined"),
            (["--lr=1"], "behind --args"),
            (5, "a list of flags"),
        ],
    ),
    "overridden": (
        [
            record("--train=gs://b/t.npz", "--val=gs://b/v.npz", "--epochs=5"),
            record("--train", "gs://b/t.npz", "--val=gs://b/v.npz", "--epochs", "5"),
        ],
        [
            (record("--train=t", "--val=v", "--epochs=50"), "not among them"),
            (record("--epochs=5"), "no --train"),
            (record("--train=t", "--epochs=5"), "no --val"),
            ({"jobSpec": {}}, "recorded(name)"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = "18-command-line.md"
    module = exercises
    answers = ANSWERS


def test_a_program_that_is_missing_is_said_to_be_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = {"aws": "/somewhere/aws"}
    monkeypatch.setattr(shutil, "which", there.get)
    programs.report("gcloud", "aws")
    missing, present = capsys.readouterr().out.splitlines()
    assert missing.startswith("gcloud is not installed (cloud.google.com/sdk/docs/install)")
    assert present == "aws: /somewhere/aws"
