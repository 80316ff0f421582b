"""The earlier script, today's and the loops of others in one process, which take turns.

`python -m tools.benchmarks.versions.interleaved KIND BEFORE …` prints as JSON the seconds of each,
by round; BEFORE is the path of the earlier train_nn.py, with the files beside it. Turns within one
process are short, so that a machine that is busy for a while slows all of them. KIND and what
follows:

- `steps BATCH ROWS`: epochs; started by measure.together(), of several replicas
- `checkpoints ROWS BATCH EPOCHS`: an epoch of a run without checkpoints, and with one in each
- `jobs TURNS`: jobs on a warm local cloud
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lesson.preparation import prepare
from testing.measure import measure_seconds, take_turns
from tools.benchmarks.script import FEATURES, ROOT, SCRIPT

HIDDEN = (64, 32)
SECONDS = 6.0  # of rounds, at least
ROUNDS = 7  # at least
BUCKET = "benchmark"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"


def load(path: str, name: str) -> Any:
    """Load a version of the script; it finds the files beside it as when it is run."""
    folder = str(Path(path).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- steps ---------------------------------------------------------------------------------------
def steps(before: str, batch: int, rows: int) -> dict[str, list[float]]:
    """Take turns with epochs, alone or as one of several replicas."""
    import torch
    import torch.distributed as dist

    place = (int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))
    if place[1] > 1:
        dist.init_process_group("gloo")
    X = torch.randn(rows, FEATURES, generator=torch.Generator().manual_seed(0))
    y = (X[:, :1] + X[:, 1:2] * X[:, 2:3] > 0).float()
    epochs: dict[str, Callable[[], object]] = {
        "before": epoch_of(load(before, "before"), X, y, batch, place),
        "after": epoch_of(load(str(SCRIPT), "after"), X, y, batch, place),
    }
    if place[1] > 1:
        from tools.benchmarks.replicas.ddp_loop import ddp

        epochs["DistributedDataParallel"] = ddp([*HIDDEN], batch // place[1], X, y)[0]
    else:
        epochs["a plain loop"] = plain_epoch(X, y, batch)
        epochs["scikit-learn"] = scikit_learn_epoch(X, y, batch)
        if importlib.util.find_spec("lightning"):
            epochs["Lightning"] = lightning_epoch(X, y, batch)
    torch.set_num_threads(1)
    return take_short_turns(epochs)


def epoch_of(
    script: Any, X: Any, y: Any, batch: int, place: tuple[int, int]
) -> Callable[[], object]:
    """Return an epoch of a version of the script, with its shuffle."""
    import torch

    rank, replicas = place
    own = range(len(X) * rank // replicas, len(X) * (rank + 1) // replicas)
    rows = slice(own.start, own.stop)
    table = script.Table(
        X=X[rows], y=y[rows], own=own, rows=len(X), replicas=replicas, preparation="", digest=""
    )
    flags = script.parse_flags(["--train=-", "--val=-", f"--batch_size={batch}"])
    run = script.start_run(
        flags, script.Replica(*place), torch.device("cpu"), train=table, val=table
    )
    if hasattr(script, "train_epoch"):  # until 2026-11-28
        return partial(script.train_epoch, run)
    return partial(
        script.train_one_epoch,
        run.model,
        run.optimizer,
        run.train,
        batch_size=run.batch_size,
        shuffle=run.shuffle,
    )


def plain_epoch(X: Any, y: Any, batch: int) -> Callable[[], object]:
    """Return an epoch of the shortest loop: rows in memory, and torch.optim.Adam by default."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    from tools.benchmarks.replicas.ddp_loop import network

    model = network(X.shape[1], [*HIDDEN])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

    def epoch() -> None:
        model.train()
        for own in torch.randperm(len(X)).split(batch):
            optimizer.zero_grad()
            loss = binary_cross_entropy_with_logits(model(X[own]), y[own])
            loss.backward()
            optimizer.step()

    return epoch


def scikit_learn_epoch(X: Any, y: Any, batch: int) -> Callable[[], object]:
    """Return an epoch of MLPClassifier, which a call of partial_fit() is."""
    from sklearn.neural_network import MLPClassifier

    model = MLPClassifier(HIDDEN, batch_size=batch, random_state=0)
    return partial(model.partial_fit, X.numpy(), y[:, 0].numpy(), classes=[0, 1])


def lightning_epoch(X: Any, y: Any, batch: int) -> Callable[[], float]:
    """Return an epoch of Lightning, which returns its seconds without the Trainer's own start."""
    import torch
    from lightning import LightningModule, Trainer
    from torch.nn.functional import binary_cross_entropy_with_logits
    from torch.utils.data import DataLoader, TensorDataset

    from tools.benchmarks.replicas.ddp_loop import network

    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Network(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layers = network(FEATURES, [*HIDDEN])

        def training_step(self, rows: Any) -> Any:
            return binary_cross_entropy_with_logits(self.layers(rows[0]), rows[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=0.001)

        def on_train_epoch_start(self) -> None:
            self.begun = time.perf_counter()

        def on_train_epoch_end(self) -> None:
            self.taken = time.perf_counter() - self.begun

    model = Network()
    loader = DataLoader(TensorDataset(X, y), batch_size=batch, shuffle=True)
    off = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar"), False)

    def epoch() -> float:
        trainer = Trainer(
            max_epochs=1, accelerator="cpu", devices=1, enable_model_summary=False, **off
        )
        trainer.fit(model, loader)
        return model.taken

    return epoch


def take_short_turns(epochs: Mapping[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Take rounds until there are enough; the first one is not counted.

    An epoch that returns its seconds as Lightning's does is believed.
    """
    import torch
    import torch.distributed as dist

    taken: dict[str, list[float]] = {name: [] for name in epochs}
    begun, enough = time.perf_counter(), torch.zeros(1)
    while not enough:
        for name, epoch in epochs.items():
            if dist.is_initialized():
                dist.barrier()
            start = time.perf_counter()
            own = epoch()
            passed = time.perf_counter() - start
            taken[name].append(own if isinstance(own, float) and name == "Lightning" else passed)
        is_long = time.perf_counter() - begun > SECONDS
        enough.fill_(is_long and len(taken["before"]) > ROUNDS)
        if dist.is_initialized():
            dist.all_reduce(enough)
    return {name: each[1:] for name, each in taken.items()}


# ---- checkpoints ---------------------------------------------------------------------------------
def checkpoints(before: str, rows: int, batch: int, epochs: int) -> dict[str, list[float]]:
    """Take turns with runs, onto this machine's disk; return seconds of an epoch."""
    from tools.benchmarks.files.checkpoints import write_table

    taken: dict[str, list[float]] = {}
    scripts = {"before": load(before, "before"), "after": load(str(SCRIPT), "after")}
    with tempfile.TemporaryDirectory() as folder:
        flags = [*write_table(folder, rows), f"--batch_size={batch}", f"--epochs={epochs}"]
        flags += [f"--model_dir={folder}", "--patience=0"]
        for _ in range(ROUNDS + 1):
            for name, script in scripts.items():
                for every, suffix in (0, ""), (1, ", on"):
                    begun = time.perf_counter()
                    with contextlib.redirect_stdout(io.StringIO()):
                        code = script.main([*flags, f"--checkpoint_every={every}"])
                    if code:
                        raise SystemExit(f"{name} ended with {code}")
                    passed = (time.perf_counter() - begun) / epochs
                    taken.setdefault(name + suffix, []).append(passed)
    return {name: each[1:] for name, each in taken.items()}


# ---- jobs ----------------------------------------------------------------------------------------
def jobs(before: str, turns: int) -> dict[str, list[float]]:
    """Take turns with jobs of one replica, on a local cloud of this benchmark's own.

    Each has a folder of its own: the SDK packs a single script, which then has no file beside it.
    """
    import local_cloud

    hidden = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, hidden:
        os.environ["LOCAL_CLOUD_HOME"] = f"{folder}/home"
        local_cloud.activate()
        try:
            scripts = {"before": Path(before), "after": SCRIPT}
            flags = upload(folder)
            measures = {
                name: partial(measure_seconds, partial(send, script, flags))
                for name, script in scripts.items()
            }
            return take_turns(measures, turns)
        finally:
            local_cloud.stop()


def upload(folder: str) -> list[str]:
    """Prepare the table and upload it; return the flags of a job that reads it."""
    from google.cloud import aiplatform, storage

    aiplatform.init(project="benchmark", location="us-central1", staging_bucket=f"gs://{BUCKET}")
    logging.getLogger("google.cloud.aiplatform").setLevel(logging.ERROR)
    bucket = storage.Client().create_bucket(BUCKET)
    made = prepare(ROOT / "data/titanic_train.csv", folder)
    flags = ["--epochs=50", "--patience=0"]
    for part, path in (("train", Path(made.train)), ("val", Path(made.val))):
        bucket.blob(path.name).upload_from_filename(str(path))
        flags.append(f"--{part}=gs://{BUCKET}/{path.name}")
    return flags


def send(script: Path, flags: list[Any]) -> None:
    """Call as the SDK does: pack, upload, create, wait."""
    from google.cloud import aiplatform

    job = aiplatform.CustomTrainingJob(
        display_name="benchmark", script_path=str(script), container_uri=IMAGE
    )
    job.run(args=flags, replica_count=1, base_output_dir=f"gs://{BUCKET}/1")


def main() -> None:
    """Measure one kind, and print."""
    kind, before, *numbers = sys.argv[1:]
    measure: dict[str, Callable[..., dict[str, list[float]]]] = {
        "steps": steps,
        "checkpoints": checkpoints,
        "jobs": jobs,
    }
    print(json.dumps(measure[kind](before, *map(int, numbers))), flush=True)
    os._exit(0)  # some of torch's threads would abort a process that ends in order


if __name__ == "__main__":
    main()
