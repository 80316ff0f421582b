"""Every verb of the helpers, once, through each cloud's SDK: a day with the lesson, in short.

What a verb does in detail is tested where the others' tests are; here none is forgotten.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from lesson.jobs.runs import Run
from lesson.jobs.studies import between
from lesson.preparation import Prepared
from testing.endpoints import gone
from tests.helpers.sides import Side
from tests.served_model import PASSENGERS, own_predictions

# The SageMaker SDK leaves its temporary folders to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")


class Verbs:
    """A side's verbs, which remember that they were called."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.called.add(name)
        return getattr(self.side.helpers, name)


@pytest.mark.usefixtures("connection")
def test_every_verb_does_its_part_of_a_day(
    side: Side,
    archives: Prepared,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    verbs = Verbs(side)
    connection = verbs.connect(bucket="every-verb")
    train, val = verbs.upload(archives.train, archives.val, prefix="data")
    assert train == f"{connection.uri}/data/train_data.npz"
    assert verbs.estimate_cost(side.machine).usd_per_hour > 0

    flags = {"train": train, "val": val, "epochs": 3}
    run = verbs.train(flags, wait=False)
    same_job_on_a_vm = verbs.train_on_vm(flags)
    run = verbs.wait(side.name(run.job))
    assert verbs.list_jobs(mine=True)["state"][0] == "succeeded"
    assert_same_weights(run, same_job_on_a_vm)

    request = verbs.train(flags, dry_run=True)
    image = {"container_uri": side.own_image}
    assert "job.yaml" in verbs.write_job(request, str(tmp_path / "job.yaml"))
    assert "pods.yaml" in verbs.write_manifest(flags, str(tmp_path / "pods.yaml"), **image)

    endpoint = deploy(verbs, run)
    chances = [each["probability"] for each in verbs.predict(endpoint, PASSENGERS)]
    assert chances == pytest.approx(own_predictions(run.folder / "model.pt")[1], abs=1e-6)
    verbs.register(run)

    for module in side.sends_folder:  # from here on nothing is trained
        monkeypatch.setattr(module, "FOLDER", side.trial)
    study = verbs.tune(flags, {"learning_rate": between(0.001, 0.1)}, trials=1)
    assert study.state == "succeeded"
    long = verbs.train(flags | {"sleep": 10_000}, wait=False)
    verbs.cancel(long)
    assert verbs.wait(long).accuracy is None

    verbs.cleanup(dry_run=False)
    capsys.readouterr()
    verbs.cleanup()
    assert capsys.readouterr().out == "nothing is left of the lesson here\n"
    if side.cloud == "Amazon":
        gone(endpoint.endpoint_name)
    assert verbs.called == set(side.helpers.__all__)


def deploy(verbs: Verbs, run: Run) -> Any:
    """Deploy; SageMaker's SDK warns of its own modules when it is imported for that."""
    with warnings.catch_warnings(action="ignore"):
        import sagemaker.serve
    assert sagemaker.serve
    return verbs.deploy(run)


def assert_same_weights(one: Run, other: Run) -> None:
    first, second = (torch.load(run.folder / "model.pt")["model"] for run in (one, other))
    for name, weights in first.items():
        torch.testing.assert_close(second[name], weights, rtol=0, atol=1e-5)
