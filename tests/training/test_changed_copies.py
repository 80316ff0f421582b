"""Copies of the script with the changes that a page shows train as a plain loop does.

The changes are the page's own blocks: each replaces the definitions of the same names. The plain
loop knows nothing of the script; networks, losses and schedules in it are PyTorch's own.
"""

from __future__ import annotations

import copy
import json
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from lesson.preparation import prepare
from tests.training.changed_copies import (
    FILES,
    PAGE,
    ROOT,
    blocks_of,
    changed_copies,
    imported,
    replaced,
)
from tests.training.support import Replicas, cluster_specs, table

EPOCHS, BATCH, RATE = 4, 16, 0.01
FLAGS = ("--hidden", "16,8", "--batch_size", BATCH, "--learning_rate", RATE, "--patience", 0)


# ---- what each copy must do, in PyTorch's own words ----------------------------------------------
def network(*, inputs: int = 7, outputs: int = 1, batch_norm: bool = False) -> nn.Module:
    """Two hidden layers."""
    if batch_norm:
        return nn.Sequential(
            nn.Linear(inputs, 16, bias=False),
            nn.BatchNorm1d(16),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(16, 8, bias=False),
            nn.BatchNorm1d(8),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(8, outputs),
        )
    return nn.Sequential(
        nn.Linear(inputs, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, outputs)
    )


def binary_loss(outputs: Tensor, y: Tensor) -> Tensor:
    return functional.binary_cross_entropy_with_logits(outputs[:, 0], y.float(), reduction="sum")


def binary_answers(outputs: Tensor) -> list[dict[str, float]]:
    chances = outputs[:, 0].sigmoid().tolist()
    return [{"probability": each, "class": int(each > 0.5)} for each in chances]


def adam(weights: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam(weights, lr=RATE)


@dataclass
class Case:
    """A section of the page, and the plain PyTorch that its copy is compared with."""

    section: str
    network: Callable[[], nn.Module] = network
    loss: Callable[[Tensor, Tensor], Tensor] = binary_loss  # the sum over rows
    scores: Callable[[Tensor, Tensor], Tensor] = lambda outputs, y: (outputs[:, 0] > 0) == (y == 1)
    score_name: str = "accuracy"
    optimizer: Callable[[Any], torch.optim.Optimizer] = adam
    gamma: float = 1.0  # the learning rate of an epoch, as a part of that before
    answers: Callable[[Tensor], list[dict[str, float]]] = binary_answers


def class_answers(outputs: Tensor) -> list[dict[str, float]]:
    chances = outputs.softmax(1)
    best = chances.max(1)
    all_three = zip(best.values.tolist(), best.indices.tolist(), chances.tolist(), strict=True)
    return [
        {"probability": chance, "class": number, "probabilities": each}
        for chance, number, each in all_three
    ]


MEAN, SCALE = 3.0, 5.0**0.5  # of the labels of the regression


def value_answers(outputs: Tensor) -> list[dict[str, float]]:
    return [{"value": each * SCALE + MEAN} for each in outputs[:, 0].tolist()]


CASES = [
    Case("dropout", network=lambda: network(batch_norm=True)),
    Case(
        "schedule",
        optimizer=lambda weights: torch.optim.SGD(weights, lr=RATE, momentum=0.9),
        gamma=0.98,
    ),
    Case(
        "classes",
        network=lambda: network(outputs=3),
        loss=nn.CrossEntropyLoss(reduction="sum"),
        scores=lambda outputs, y: outputs.argmax(1) == y,
        answers=class_answers,
    ),
    Case(
        "regression",
        loss=lambda outputs, y: ((outputs[:, 0] - y) ** 2).sum(),
        scores=lambda outputs, y: 1 - (outputs[:, 0] - y) ** 2,
        score_name="r2",
        answers=value_answers,
    ),
    Case("columns", network=lambda: network(inputs=9)),
]


def reference(
    case: Case, X: Tensor, y: Tensor, replicas: int, epochs: int = EPOCHS
) -> dict[str, Tensor]:
    """Train in a plain loop; each replica is a model of its own, with its own random numbers."""
    torch.manual_seed(0)
    first = case.network()
    models = [copy.deepcopy(first) for _ in range(replicas)]
    optimizers = [case.optimizer(model.parameters()) for model in models]
    schedules = [torch.optim.lr_scheduler.ExponentialLR(each, case.gamma) for each in optimizers]
    shuffle = torch.Generator().manual_seed(0)
    random_states = [torch.manual_seed(rank).get_state() for rank in range(replicas)]
    owner = torch.arange(len(X)) * replicas // len(X)
    for _ in range(epochs):
        for batch in torch.randperm(len(X), generator=shuffle).split(BATCH):
            for rank, model in enumerate(models):
                own = batch[owner[batch] == rank]
                torch.set_rng_state(random_states[rank])
                model.zero_grad()
                (case.loss(model(X[own]), y[own]) / len(batch)).backward()
                random_states[rank] = torch.get_rng_state()
            for weights in zip(*(model.parameters() for model in models), strict=True):
                total = torch.stack([weight.grad for weight in weights]).sum(0)
                for weight in weights:
                    weight.grad = total.clone()
            for optimizer in optimizers:
                optimizer.step()
        for schedule in schedules:
            schedule.step()
        for buffers in zip(*(model.buffers() for model in models), strict=True):
            mean = torch.stack([buffer.float() for buffer in buffers]).mean(0)
            for buffer in buffers:
                buffer.copy_(mean)
    return models[0].state_dict()


# ---- the tables ----------------------------------------------------------------------------------
def archives(case: Case, folder: Path) -> tuple[Path, Path]:
    """The archives that a copy trains on and judges by."""
    if case.section == "columns":
        made = with_two_more_columns(folder)
        return made.train, made.val
    arrays = table(rows=60)
    for part in ("train", "val"):
        X = arrays[f"X_{part}"]
        if case.section == "classes":
            arrays[f"y_{part}"] = np.digitize(X[:, 0], [-0.5, 0.5])
        if case.section == "regression":
            y = X[:, 0] - 2 * X[:, 1] + 3
            arrays[f"y_{part}"] = (y - MEAN) / SCALE
            label = {"name": "y", "mean": MEAN, "scale": SCALE}
            arrays["preparation"] = np.array(json.dumps({"label": label}))
    np.savez(folder / "table.npz", **arrays)
    return folder / "table.npz", folder / "table.npz"


def with_two_more_columns(folder: Path) -> Any:
    """What the copy of the preparation makes of the table that the page's first block writes."""
    make_table = next(block for block in blocks_of("columns") if "read_csv" in block)
    for name in ("data", "runs"):
        (folder / name).mkdir()
    shutil.copy(ROOT / "data/titanic_train.csv", folder / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        names: dict[str, Any] = {"prepare": prepare}
        exec(compile(make_table, str(PAGE), "exec"), names)
    made = names["data"]
    return made._replace(train=folder / made.train, val=folder / made.val)


def read(archive: Path, part: str) -> tuple[Tensor, Tensor]:
    """The rows and labels of an archive."""
    with np.load(archive) as arrays:
        X = torch.from_numpy(arrays[f"X_{part}"].astype(np.float32))
        y = torch.from_numpy(arrays[f"y_{part}"])
    return X, y if y.dtype == torch.int64 else y.float()


def alone(script: Path, folder: Path, *flags: Any) -> int:
    """Run a copy in this process, as a notebook does; its exit code."""
    words = map(str, (*FLAGS, "--model_dir", folder, *flags))
    code: int = imported(script).main([*words])
    return code


def processes(script: Path, replicas: int, folder: Path, *flags: Any) -> Replicas:
    """Start a copy as so many replicas."""
    logs = folder.with_name(f"{folder.name}-logs")
    environments = [{"CLUSTER_SPEC": spec} for spec in cluster_specs(replicas)]
    flags = (*FLAGS, "--model_dir", folder, *flags)
    return Replicas(environments, logs, *flags, script=script)


def train(script: Path, replicas: int, folder: Path, *flags: Any) -> dict[str, Any]:
    """Train to the end; what model.pt holds."""
    if replicas == 1:
        assert alone(script, folder, *flags) == 0
    else:
        with processes(script, replicas, folder, *flags) as running:
            assert running.codes() == [0] * replicas, running.said(0)
    saved: dict[str, Any] = torch.load(folder / "model.pt", weights_only=True)
    return saved


# ---- the tests -----------------------------------------------------------------------------------
# Two replicas of each change start two processes that import torch; one change that needs all that
# replicas share (random numbers, buffers) is enough for every day.
EACH_ALONE = [pytest.param(case, 1, id=f"{case.section}-1") for case in CASES]
EACH_AS_TWO = [
    pytest.param(
        case,
        2,
        id=f"{case.section}-2",
        marks=() if case.section == "dropout" else pytest.mark.slow,
    )
    for case in CASES
]


@pytest.mark.parametrize(("case", "replicas"), EACH_ALONE + EACH_AS_TWO)
def test_a_changed_copy_trains_as_a_plain_loop(case: Case, replicas: int, tmp_path: Path) -> None:
    script = changed_copies(tmp_path, case.section)
    data, val = archives(case, tmp_path)
    flags = ("--train", data, "--val", val, "--epochs", EPOCHS, "--restore_best", "false")
    saved = train(script, replicas, tmp_path / "run", *flags)
    expected = reference(case, *read(data, "train"), replicas)
    assert saved["model"].keys() == expected.keys()
    for name, value in expected.items():
        assert saved["model"][name] == pytest.approx(value.numpy(), abs=1e-6), name

    model = case.network().eval()
    model.load_state_dict(expected)
    X, y = read(val, "val")
    with torch.no_grad():
        outputs = model(X)
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["loss"] == pytest.approx(case.loss(outputs, y).item() / len(X), abs=1e-5)
    scores = case.scores(outputs, y).float()
    assert metrics[case.score_name] == pytest.approx(scores.mean().item(), abs=1e-5)
    assert metrics["score"] == case.score_name

    serving = imported(tmp_path / "serve_nn.py")
    # Of all that the copy's folder holds, the server has what the run has kept.
    (tmp_path / "train_nn.py").unlink()
    predictions = serving.predict_fn(X.tolist(), serving.model_fn(str(tmp_path / "run")))
    answers = json.loads(serving.output_fn(predictions)[0])["predictions"]
    for answer, wanted in zip(answers, case.answers(outputs), strict=True):
        assert answer.keys() == wanted.keys()
        for name, value in wanted.items():
            assert answer[name] == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("replicas", [1, 2])
def test_dropout_and_batch_norm_resume_with_the_same_bits(replicas: int, tmp_path: Path) -> None:
    script = changed_copies(tmp_path, "dropout")
    data, val = archives(CASES[0], tmp_path)
    flags = ("--train", data, "--val", val, "--epochs", 5, "--checkpoint_every", 2)
    whole = train(script, replicas, tmp_path / "whole", *flags)

    killed = tmp_path / "killed.py"
    killed.write_text(replaced(script.read_text(), KILLED_IN_EPOCH_4))
    with processes(killed, replicas, tmp_path / "run", *flags) as running:
        assert 0 not in running.codes()
    assert not (tmp_path / "run/model.pt").exists()

    resumed = train(script, replicas, tmp_path / "run", *flags)
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["epochs"]["resumed"] == [3]
    for name, value in whole["model"].items():
        assert torch.equal(resumed["model"][name], value), name


KILLED_IN_EPOCH_4 = """
def learning_rate_at(epoch, epochs, learning_rate):
    if epoch == 4:
        os.kill(os.getpid(), 9)
    return learning_rate
"""


def test_the_best_weights_include_buffers(tmp_path: Path) -> None:
    script = changed_copies(tmp_path, "dropout")
    arrays = table(rows=60)
    arrays["y_val"] = 1 - arrays["y_val"]  # the better the model, the worse the validation loss
    np.savez(tmp_path / "table.npz", **arrays)
    data = ("--train", tmp_path / "table.npz", "--val", tmp_path / "table.npz")
    best = train(script, 1, tmp_path / "best", *data, "--epochs", 4)
    first = train(script, 1, tmp_path / "first", *data, "--epochs", 1)
    last = train(script, 1, tmp_path / "last", *data, "--epochs", 4, "--restore_best", "false")
    for name, value in first["model"].items():
        assert torch.equal(best["model"][name], value), name
    assert not torch.equal(last["model"]["1.running_mean"], best["model"]["1.running_mean"])


def test_replicas_that_share_layers_drop_what_one_alone_drops(tmp_path: Path) -> None:
    script = changed_copies(tmp_path, "dropout")
    batch_norm = "        layers.append(nn.BatchNorm1d(width))  # new\n"
    assert batch_norm in script.read_text()
    script.write_text(script.read_text().replace(batch_norm, ""))
    shutil.copy(ROOT / "training/shared_layers.py", tmp_path)
    data, val = archives(CASES[0], tmp_path)
    flags = ("--train", data, "--val", val, "--epochs", EPOCHS, "--parallelism", "model")
    one = train(script, 1, tmp_path / "one", *flags)
    two = train(script, 2, tmp_path / "two", *flags)
    for name, value in one["model"].items():
        assert two["model"][name] == pytest.approx(value.numpy(), abs=1e-6), name


def test_replicas_cannot_share_the_columns_of_batch_norm(tmp_path: Path) -> None:
    script = changed_copies(tmp_path, "dropout")
    shutil.copy(ROOT / "training/shared_layers.py", tmp_path)
    data, val = archives(CASES[0], tmp_path)
    flags = ("--train", data, "--val", val, "--parallelism", "model")
    with processes(script, 2, tmp_path / "run", *flags) as running:
        assert running.codes() == [2, 2]
    assert running.said(0)[-1] == (
        "train_nn.py: --parallelism model: replicas cannot share the columns of BatchNorm1d "
        "between two Linear layers; remove it, or choose --parallelism data"
    )


SGD_THAT_COUNTS = """
def build_optimizer(weights, learning_rate):
    class Counting(torch.optim.SGD):
        def step(self):
            super().step()
            self.state[weights[0]]["steps"] = 1 + self.state[weights[0]].get("steps", 0)

    return Counting(weights, lr=learning_rate)
"""


def test_an_optimizer_may_keep_other_things_than_tensors(tmp_path: Path) -> None:
    script = changed_copies(tmp_path, "schedule")
    script.write_text(replaced(script.read_text(), SGD_THAT_COUNTS))
    data, val = archives(CASES[1], tmp_path)
    train(script, 1, tmp_path / "run", "--train", data, "--val", val, "--epochs", 2)
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["replicas"][0]["bytes"]["optimiser"] == 0


WRONG_SHAPES = [
    ("regression", 'reduction="none"', 'reduction="mean"', "loss_of_each_row() returns 1 values"),
    (
        "regression",
        "(*layers)",
        "(*layers, nn.Flatten(0))",
        "loss_of_each_row() returns 256 values",
    ),
    ("classes", "== y[:, 0]", "== y", "score() returns 256 values"),
]


@pytest.mark.parametrize(("section", "right", "wrong", "reason"), WRONG_SHAPES)
def test_any_other_number_of_values_is_refused(
    section: str,
    right: str,
    wrong: str,
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = changed_copies(tmp_path, section)
    assert right in script.read_text()
    script.write_text(script.read_text().replace(right, wrong))
    case = next(case for case in CASES if case.section == section)
    data, _ = archives(case, tmp_path)
    with np.load(data) as arrays:
        np.savez(data, **{name: array[:16] for name, array in arrays.items() if array.ndim})
    with warnings.catch_warnings(action="ignore"):  # PyTorch's own, of shapes that differ
        assert alone(script, tmp_path / "run", "--train", data, "--val", data) == 2
    sentence = f"train_nn.py: {reason} for 16 rows; return one for each row\n"
    assert capsys.readouterr().err == sentence
    if "1 values" in reason:
        assert sentence in PAGE.read_text()
    assert not (tmp_path / "run/model.pt").exists()


def test_without_the_script_beside_it_the_server_says_what_is_missing(tmp_path: Path) -> None:
    alone = imported(Path(shutil.copy(FILES["serve_nn.py"], tmp_path)))
    with pytest.raises(alone.BadRequest, match="is missing; send train_nn"):
        alone.load_code(tmp_path)


def test_a_network_that_is_not_that_of_the_model_is_refused_by_its_first_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = changed_copies(tmp_path, "schedule")
    data, val = archives(CASES[1], tmp_path)
    train(script, 1, tmp_path / "run", "--train", data, "--val", val, "--epochs", 1)
    serving = imported(tmp_path / "serve_nn.py")
    other = tmp_path / "run/train_nn.py"
    text = other.read_text()
    for old, new, where in (
        ("nn.Linear(inputs, width)", "nn.Linear(inputs, 2 * width)", "0.weight is 16 × 7 in the"),
        ("nn.ReLU()]", "nn.ReLU(), nn.BatchNorm1d(width)]", "2.weight is 8 × 16 in the"),
    ):
        other.write_text(text.replace(old, new))
        with pytest.raises(serving.BadRequest, match=f"does not fit .* train_nn.py: {where} model"):
            serving.model_fn(str(tmp_path / "run"))
        assert "Error(s) in loading state_dict" in capsys.readouterr().err


def test_a_module_that_the_network_needs_is_kept_with_the_run(tmp_path: Path) -> None:
    script = changed_copies(tmp_path, "schedule")
    (tmp_path / "own_layers.py").write_text("from torch import nn\n\nActivation = nn.Tanh\n")
    text = script.read_text().replace("nn.ReLU()]", "own_layers.Activation()]")
    script.write_text(text.replace("import argparse\n", "import argparse\nimport own_layers\n"))
    data, val = archives(CASES[1], tmp_path)
    with processes(script, 1, tmp_path / "run", "--train", data, "--val", val) as running:
        assert running.codes() == [0], running.said(0)
    kept = {file.name for file in (tmp_path / "run").glob("*.py")}
    assert kept == {"train_nn.py", "serve_nn.py", "own_layers.py"}


def test_results_in_the_scripts_own_folder_leave_the_script_alone(tmp_path: Path) -> None:
    script = changed_copies(tmp_path, "schedule")
    before = script.stat().st_ino
    data, val = archives(CASES[1], tmp_path)
    assert alone(script, tmp_path, "--train", data, "--val", val, "--epochs", 1) == 0
    assert script.stat().st_ino == before


def test_a_replica_with_one_row_is_too_few_for_batch_norm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = changed_copies(tmp_path, "dropout")
    data, val = archives(CASES[0], tmp_path)
    flags = ("--train", data, "--val", val, "--batch_size", 1)
    assert alone(script, tmp_path / "run", *flags) == 2
    said = capsys.readouterr().err
    assert said.startswith("train_nn.py: batch normalization needs two rows in every step")
