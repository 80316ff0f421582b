"""Flags of a request, however its SDK has written them."""

from __future__ import annotations

import pytest

from local_cloud.console.records import flags
from local_cloud.console.records.jobs import Shown
from local_cloud.engine.spec import Job, State

WANTED = {"epochs": "300", "train": "gs://a/b.npz"}


def shown(dialect: str, request: flags.Any) -> Shown:
    return Shown(Job("1", dialect, 1, State.RUNNING, 0.0), "job", "job", request)


def test_flags_of_both_clouds_read_the_same() -> None:
    script = {"pythonPackageSpec": {"args": ["--epochs=300", "--train", "gs://a/b.npz"]}}
    assert flags.of(shown("vertex", {"workerPoolSpecs": [script]})) == WANTED
    line = "pip install -q --user a.tar.gz && python3 -m task --epochs=300 '--train=gs://a/b.npz'"
    shell = {"containerSpec": {"command": ["sh", "-c", line]}}
    assert flags.of(shown("vertex", {"workerPoolSpecs": [shell]})) == WANTED
    quoted = {"epochs": "300", "train": '"gs://a/b.npz"', "sagemaker_program": "x", "_tuning": "y"}
    assert flags.of(shown("sagemaker", {"HyperParameters": quoted})) == WANTED
    for dialect in ("vertex", "sagemaker"):
        assert flags.of(shown(dialect, {})) == {}


def test_a_flag_without_a_value_and_one_that_comes_twice() -> None:
    words = ["python", "--compile", "--rate=0.1", "--size", "-1", "--rate", "0.2"]
    assert flags.parse(words) == {"compile": "", "rate": "0.2", "size": "-1"}


@pytest.mark.parametrize("text", ["12", "12.0"])
def test_the_number_of_epochs(text: str) -> None:
    assert flags.epochs({"epochs": text}) == 12
    assert flags.epochs({"epochs": "many"}) is None
