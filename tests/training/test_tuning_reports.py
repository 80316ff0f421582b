"""What a trial tells Vertex AI's tuner, by the real cloudml-hypertune."""

from __future__ import annotations

import csv
import json
import math
import shutil
import sys
from pathlib import Path

import pytest

from tests.training.pool import in_step, instead, lose_the_others
from tests.training.support import SCRIPT, Replicas, cluster_specs, save, train


class Tuner:
    """The file that the service reads, of a trial."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "metrics/of the trial"

    def reports(self, tag: str) -> list[tuple[int, float]]:
        """(step, value) of each report of this tag, in their order."""
        lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        assert {line["trial"] for line in lines} == {"7"}
        return [(int(line["global_step"]), float(line[tag])) for line in lines if tag in line]


@pytest.fixture
def tuner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tuner:
    made = Tuner(tmp_path)
    monkeypatch.setenv("CLOUD_ML_TRIAL_ID", "7")
    monkeypatch.setenv("CLOUD_ML_HP_METRIC_FILE", str(made.file))
    return made


def written(folder: Path) -> dict[str, float]:
    metrics: dict[str, float] = json.loads((folder / "metrics.json").read_text())
    return metrics


@pytest.mark.parametrize("epochs", [1, 2, 10, 47, 500])
def test_the_tuner_is_told_of_epochs_all_over_the_run_and_last_of_the_written_model(
    tmp_path: Path, tuner: Tuner, epochs: int
) -> None:
    run = tmp_path / "run"
    flags = ("--epochs", epochs, "--learning_rate", 0.05, "--patience", 0)
    assert train(save(tmp_path / "a.npz"), run, *flags).code == 0
    with (run / "history.csv").open() as file:
        history = {int(row["epoch"]): row for row in csv.DictReader(file)}
    for tag in ("loss", "accuracy"):
        *earlier, last = tuner.reports(f"validation_{tag}")
        assert last == (epochs, written(run)[tag])
        tenths = {1, *(math.ceil(epochs * part / 10) for part in range(1, 10))}
        assert [step for step, _ in earlier] == sorted(tenths - {epochs})
        for step, value in earlier:
            assert value == float(history[step][f"val_{tag}"])


def test_a_run_that_patience_ends_reports_its_best_weights_last(
    tmp_path: Path, tuner: Tuner
) -> None:
    flags = ("--epochs", 47, "--learning_rate", 0.1, "--patience", 3, "--min_delta", 0.01)
    run = tmp_path / "run"
    train(save(tmp_path / "a.npz"), run, *flags)
    epochs = json.loads((run / "metrics.json").read_text())["epochs"]
    assert epochs["best"] < epochs["last"] < 47
    reports = tuner.reports("validation_loss")
    assert [step for step, _ in reports[:-1]] == [1, 5, 10, 15][: len(reports) - 1]
    assert reports[-1] == (epochs["last"], written(run)["loss"])


def test_a_run_that_resumes_from_a_checkpoint_reports_what_an_undisturbed_one_does(
    tmp_path: Path, tuner: Tuner
) -> None:
    archive = save(tmp_path / "a.npz")
    flags = ("--epochs", 60, "--checkpoint_every", 10)
    train(archive, tmp_path / "whole", *flags)
    undisturbed = tuner.reports("validation_loss")
    with instead(add_up_gradients=in_step(35, lose_the_others)):
        assert train(archive, tmp_path / "run", *flags).code == 134
    assert train(archive, tmp_path / "run", *flags).code == 0
    assert tuner.reports("validation_loss") == undisturbed


def test_the_script_alone_reports(tmp_path: Path, tuner: Tuner) -> None:
    """As lessons send it: without the folder that it is in."""
    (tmp_path / "alone").mkdir()
    alone = Path(shutil.copy(SCRIPT, tmp_path / "alone"))
    trial = {"CLOUD_ML_TRIAL_ID": "7", "CLOUD_ML_HP_METRIC_FILE": str(tuner.file)}
    archive = save(tmp_path / "a.npz")
    data = ("--train", archive, "--val", archive, "--model_dir", tmp_path / "run")
    with Replicas([trial], tmp_path / "logs", *data, "--epochs", 3, script=alone) as running:
        assert running.codes() == [0], running.said(0)
    assert tuner.reports("validation_loss")[-1] == (3, written(tmp_path / "run")["loss"])
    assert len(tuner.reports("validation_accuracy")) == 3


def test_only_the_first_replica_reports(tmp_path: Path) -> None:
    files, archive, logs = [tmp_path / f"{rank}" for rank in (0, 1)], tmp_path / "a.npz", tmp_path
    environments = [
        {"CLUSTER_SPEC": spec, "CLOUD_ML_TRIAL_ID": "7", "CLOUD_ML_HP_METRIC_FILE": str(file)}
        for spec, file in zip(cluster_specs(2), files, strict=True)
    ]
    data = ("--train", save(archive), "--val", archive, "--model_dir", tmp_path / "run")
    with Replicas(environments, logs, *data, "--epochs", 3) as replicas:
        assert replicas.codes() == [0, 0]
    assert [file.exists() for file in files] == [True, False]


def test_the_clusters_specification_says_that_it_is_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    class HyperTune:
        def report_hyperparameter_tuning_metric(self, *report: object) -> None:
            told.append(report)

    monkeypatch.setattr("hypertune.HyperTune", HyperTune)
    spec = json.loads(cluster_specs(1)[0])
    for trial, reports in ((None, 0), ("", 0), ("3", 4)):
        spec["task"] |= {} if trial is None else {"trial": trial}
        monkeypatch.setenv("CLUSTER_SPEC", json.dumps(spec))
        train(save(tmp_path / "a.npz"), tmp_path / "run", "--epochs", 2)
        assert len(told) == reports


def test_without_the_package_it_is_said_once_and_the_model_is_written(
    tmp_path: Path, tuner: Tuner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hypertune", None)
    done = train(save(tmp_path / "a.npz"), tmp_path / "run", "--epochs", 3)
    assert done.code == 0 and (tmp_path / "run/model.pt").exists()
    assert done.out.count("nothing is reported to the tuner (") == 1
    assert "); pip install cloudml-hypertune\n" in done.out
    assert "Traceback" not in done.out + done.err


def test_a_file_that_cannot_be_written_is_said_and_the_model_is_written(
    tmp_path: Path, tuner: Tuner
) -> None:
    tuner.file.mkdir(parents=True)
    done = train(save(tmp_path / "a.npz"), tmp_path / "run", "--epochs", 3)
    assert done.code == 0 and (tmp_path / "run/model.pt").exists()
    assert done.err == "train_nn.py: a metric was not reported to the tuner: Is a directory\n"


def test_a_folder_for_the_file_that_cannot_be_made_is_said_and_the_model_is_written(
    tmp_path: Path, tuner: Tuner
) -> None:
    tuner.file.parent.write_text("a file where the folder should be")
    done = train(save(tmp_path / "a.npz"), tmp_path / "run", "--epochs", 3)
    assert done.code == 0 and (tmp_path / "run/model.pt").exists()
    assert done.err == "train_nn.py: a metric was not reported to the tuner: Not a directory\n"
