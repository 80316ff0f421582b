"""Train a small neural network that answers yes or no about each row of a table.

Run it in a terminal or a notebook, or send it to a training service. It is one file and imports
nothing of the project it comes from: copy it for your own table.
    python train_nn.py --train train_data.npz --val val_data.npz --epochs 200 --batch_size 64
    %run train_nn.py --train train_data.npz --val val_data.npz
Reads   --train: an npz archive with X_train (rows, features) and y_train (rows,), labels 0 or 1
        --val: an npz archive with X_val and y_val of the same kind
Writes  model.pt, metrics.json, history.csv and training.log side by side into --model_dir, and
        preparation.json where the training archive carries the preparation it was made with
Exits   with 0 when the model is written; with 2 and one sentence when an input cannot be used
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import io
import itertools
import json
import math
import os
import platform
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

STARTED = time.perf_counter()


class Refused(Exception):
    """An input cannot be used; the message says what, where and what to do."""


def need(fulfilled: object, otherwise: str) -> None:
    """Refuse the input with this message unless the condition is fulfilled."""
    if not fulfilled:
        raise Refused(otherwise)


# ---- flags --------------------------------------------------------------------------------------
def numeric(low: int, cast: type, text: str) -> Any:
    """A number from `low` up; for int a whole one, also when a tuner writes it as 64.0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if low <= value < math.inf and cast(value) == value:
        return cast(value)
    kind = "whole number" if cast is int else "number"
    raise argparse.ArgumentTypeError(f"needs a {kind} from {low} up, not {text!r}")


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake costs one sentence instead of a page of usage."""

    def error(self, message: str) -> Any:
        """Say the mistake and leave with exit code 2."""
        self.exit(2, f"train_nn.py: {message}; --help lists the flags\n")


# fmt: off
def parse_flags(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the flags; those that a service adds and this script does not know end in `unknown`."""
    parser = Parser("train_nn.py", description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    flag, whole, from_1 = parser.add_argument, partial(numeric, 0, int), partial(numeric, 1, int)
    flag("--train", required=True, help="npz archive with X_train and y_train")
    flag("--val", required=True, help="npz archive with X_val and y_val")
    flag("--epochs", type=from_1, default=1000, help="passes over the data, at most (1000)")
    flag("--learning_rate", type=partial(numeric, 0, float), default=0.001, help="(0.001)")
    flag("--batch_size", type=whole, default=0, help="rows per step; 0 is the whole set (0)")
    flag("--hidden", type=lambda text: [from_1(item) for item in text.split(",")],
         default=[64, 32], help="widths of the hidden layers (64,32)")
    flag("--patience", type=whole, default=50, help="epochs to bear without gain; 0 is any (50)")
    flag("--min_delta", type=partial(numeric, 0, float), default=0.0, help="gain that counts (0)")
    flag("--restore_best", type=lambda text: {"true": True, "false": False}.get(text.lower(), text),
         choices=(True, False), default=True, help="weights of the best epoch, not the last (true)")
    flag("--seed", type=whole, default=0, help="same seed on the same machine: same model (0)")
    flag("--device", default="auto", help="auto, cpu, cuda, mps or xla (auto)")
    flag("--model_dir", help="folder for the results ($AIP_MODEL_DIR, else $SM_MODEL_DIR, else .)",
         default=os.environ.get("AIP_MODEL_DIR") or os.environ.get("SM_MODEL_DIR") or ".")
    flags, unknown = parser.parse_known_args(arguments)
    for name in ("--parallelism", "--checkpoint_every", "--checkpoint_dir"):
        if name in (item.split("=")[0] for item in unknown):
            parser.error(f"{name} is not implemented yet")
    flags.unknown = unknown
    return flags
# fmt: on


# torch takes about a second to import: --help and a mistaken flag should not have to wait for it.
FLAGS = parse_flags() if __name__ == "__main__" else None

# Importing torch makes objects by the hundred thousand that live as long as the process: leaving
# them out of garbage collection takes a quarter off the time that starting and leaving cost.
gc.disable()
import numpy as np
import torch
from torch.nn import Linear, ReLU, Sequential
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.optim.adam import adam

if __name__ == "__main__":
    gc.freeze()
gc.enable()


# ---- place --------------------------------------------------------------------------------------
def choose_device(wanted: str) -> torch.device:
    """The device to train on; `auto` takes the first of CUDA, TPU and Apple GPU that is there."""
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    here = {"cuda": cuda, "xla": importlib.util.find_spec("torch_xla"), "mps": mps, "cpu": True}
    usable = [name for name, there in here.items() if there]
    name = usable[0] if wanted == "auto" else wanted
    need(name in usable, f"--device {wanted}: here torch can use {' or '.join(usable)}; name one")
    return importlib.import_module("torch_xla").device() if name == "xla" else torch.device(name)


def tune_cpu(rows_per_step: int, weights: int) -> None:
    """Use a thread for each 25 million operations of a step: less gains nothing (benchmarks/)."""
    operations = 6 * rows_per_step * weights  # multiply and add: once forward, twice backward
    torch.set_num_threads(max(1, min(torch.get_num_threads(), operations // 25_000_000)))
    # glibc hands freed memory back at once, until it has freed one block of nearly 32 MiB.
    torch.empty(8 * 2**20 - 4096)


# ---- data ---------------------------------------------------------------------------------------
Table = tuple[torch.Tensor, torch.Tensor]  # X (rows, features) and y (rows, 1), both float32


def read_table(flag: str, path: str, part: str) -> tuple[Table, str]:
    """X_<part> and y_<part> of an archive, checked, and the preparation it may carry, else ""."""
    where, X_name, y_name = f"{flag} {path}:", f"X_{part}", f"y_{part}"
    names = (X_name, y_name, "preparation")
    need("://" not in path, f"{where} reading from a bucket is not implemented yet; give a file")
    try:
        # A pickle could run code: it is never loaded.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in names if name in archive.files}
    except (OSError, EOFError, MemoryError, OverflowError, RuntimeError, SyntaxError, TypeError,
            ValueError, zipfile.BadZipFile, zlib.error) as problem:  # fmt: skip
        reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        kind = "it must be an npz archive of plain arrays, as numpy.savez writes them"
        raise Refused(f"{where} cannot be read ({reason.splitlines()[0]}); {kind}") from None
    for name in (X_name, y_name):
        need(name in arrays, f"{where} there is no array {name}; name the arrays in numpy.savez")
        dtype = arrays[name].dtype
        need(dtype.kind in "biuf", f"{where} {name} holds {dtype}; encode it as numbers")
    X, y = arrays[X_name], arrays[y_name]
    filled = X.ndim == 2 and X.size
    need(filled, f"{where} {X_name} has shape {X.shape}; make it (rows, features), not empty")
    one_each = y.shape in ((len(X),), (len(X), 1))
    need(one_each, f"{where} {y_name} has shape {y.shape}; give each of {len(X)} rows one label")
    with np.errstate(over="ignore"):  # what is too large for float32 becomes inf: refused below
        X, y = X.astype(np.float32), y.astype(np.float32).reshape(-1, 1)
    bad = np.argwhere(~np.isfinite(X))
    if len(bad):
        first = f"first in row {bad[0][0]}, column {bad[0][1]} (from 0); fill in or drop the rows"
        raise Refused(f"{where} {X_name} has {len(bad)} missing or infinite values, {first}")
    need(np.isin(y, (0, 1)).all(), f"{where} {y_name} has labels other than 0 (no) and 1 (yes)")
    return (torch.from_numpy(X), torch.from_numpy(y)), str(arrays.get("preparation", ""))


# ---- model --------------------------------------------------------------------------------------
def build_model(features: int, hidden: Sequence[int], seed: int) -> Sequential:
    """Linear layers with ReLU between them; the output is one logit per row: above 0 means yes.

    Made on the CPU, so that every device starts alike; a notebook's random state is left alone.
    """
    layers: list[torch.nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for inputs, outputs in itertools.pairwise([features, *hidden, 1]):
            linear = Linear(inputs, outputs)
            # Kept transposed in memory: the gradient of a narrow layer comes up to twice as fast.
            linear.weight = torch.nn.Parameter(linear.weight.detach().t().contiguous().t())
            layers += [linear, ReLU(inplace=True)]
    return Sequential(*layers[:-1])


def adam_step(parameters: list[Any], learning_rate: float) -> Callable[[Sequence[Any]], None]:
    """Return a function that takes the gradients and moves the parameters by one step of Adam.

    The arithmetic of torch.optim.Adam, whose class would first import torch's compiler, which
    takes a second, and then spend twice the time of this call on every step.
    """
    means, squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    counts = [torch.zeros((), device=p.device) for p in parameters]
    fused = parameters[0].device.type != "xla"  # fused: all parameters in one pass over memory

    @torch.no_grad()
    def step(gradients: Sequence[Any]) -> None:
        adam(parameters, list(gradients), means, squares, [], counts, fused=fused,
             lr=learning_rate, beta1=0.9, beta2=0.999, eps=1e-8,  # the class's own defaults
             weight_decay=0.0, amsgrad=False, maximize=False)  # fmt: skip

    return step


# ---- training -----------------------------------------------------------------------------------
@torch.no_grad()
def evaluate(model: Sequential, table: Table) -> tuple[float, float]:
    """The mean loss on a table, and the share of its rows that the model gets right."""
    X, y = table
    logits = model(X)
    loss = binary_cross_entropy_with_logits(logits, y)
    right = ((logits > 0) == (y > 0.5)).float().mean()
    values = torch.stack((loss, right)).tolist()  # waits for the device once, not twice
    return values[0], values[1]


def train_epoch(model: Sequential, table: Table, batch: int, step: Any) -> float:
    """One pass over the table, `batch` rows at a time; returns the mean loss on the way."""
    parameters = list(model.parameters())
    losses, sizes = [], []
    for X, y in zip(*(torch.split(tensor, batch) for tensor in table), strict=True):
        loss = binary_cross_entropy_with_logits(model(X), y)
        step(torch.autograd.grad(loss, parameters))
        losses.append(loss.detach())
        sizes.append(len(X))
    return float(np.average(torch.stack(losses).tolist(), weights=sizes))


def train(model: Sequential, data: Table, val: Table, flags: Any, say: Any) -> tuple[Any, int]:
    """Train until epochs or patience run out; returns the history and the best epoch.

    The model is left with the weights of the best epoch or, without --restore_best, of the last.
    """
    X, y = data
    batch = min(flags.batch_size or len(X), len(X))
    shuffle = torch.Generator().manual_seed(flags.seed)
    step = adam_step(list(model.parameters()), flags.learning_rate)
    history, best_loss, best_epoch = [], math.inf, 0
    begun = said = time.perf_counter()
    for epoch in range(1, flags.epochs + 1):
        if batch < len(X):  # batches are slices of a table that is shuffled anew for each epoch
            order = torch.randperm(len(X), generator=shuffle).to(X.device)
            data = X.index_select(0, order), y.index_select(0, order)
        loss = train_epoch(model, data, batch, step)
        val_loss, accuracy = evaluate(model, val)
        now = time.perf_counter()
        history.append((epoch, loss, val_loss, accuracy, now - begun))
        advice = f"lower --learning_rate, which was {flags.learning_rate:g}"
        need(math.isfinite(val_loss), f"the loss is not finite after epoch {epoch}; {advice}")
        if val_loss < best_loss - flags.min_delta:
            best_loss, best_epoch = val_loss, epoch
            best_weights = {name: value.clone() for name, value in model.state_dict().items()}
        stop = epoch - best_epoch == flags.patience > 0
        # About ten lines over the run, and on a long one at least one every two seconds.
        if stop or epoch in (1, flags.epochs) or epoch * 10 % flags.epochs < 10 or now - said > 2:
            said = now
            say(f"epoch {epoch:5d}  loss {loss:.4f}  validation loss {val_loss:.4f}  "
                f"accuracy {accuracy:.4f}  {now - begun:.1f} s")  # fmt: skip
        if stop:
            say(f"stopped: no better validation loss for {flags.patience} epochs")
            break
    if flags.restore_best:
        model.load_state_dict(best_weights)
    return history, best_epoch


# ---- results ------------------------------------------------------------------------------------
def write_results(folder: Path, model_content: dict[str, Any], texts: dict[str, str]) -> None:
    """Write model.pt and the texts, each whole or not at all: renamed when it is complete."""
    torch.save(model_content, model_file := io.BytesIO())
    files = {name: text.encode() for name, text in texts.items()}
    for name, content in ({"model.pt": model_file.getvalue()} | files).items():
        part = folder / f"{name}.part"
        part.write_bytes(content)
        part.replace(folder / name)


def run(flags: argparse.Namespace, say: Callable[[str], None], lines: list[str]) -> None:
    """Read the data, train the model, write the results; `lines` are what has been said."""
    begun = time.perf_counter()
    data, preparation = read_table("--train", flags.train, "train")
    val, _ = read_table("--val", flags.val, "val")
    (rows, features), (_, val_features) = data[0].shape, val[0].shape
    other = f"--val {flags.val} has {val_features}; prepare both in the same way"
    need(val_features == features, f"--train {flags.train} has {features} features, {other}")
    need("://" not in flags.model_dir, "--model_dir: writing to a bucket is not implemented yet")
    folder, device = Path(flags.model_dir), choose_device(flags.device)
    folder.mkdir(parents=True, exist_ok=True)
    model = build_model(features, flags.hidden, flags.seed).to(device)
    weights = sum(p.numel() for p in model.parameters())
    tune_cpu(min(flags.batch_size or rows, rows), weights)
    data, val = ((X.to(device), y.to(device)) for X, y in (data, val))
    place = {"device": str(device), "threads": torch.get_num_threads()}
    size = f"{rows} rows, {features} features, {weights} weights"
    say(f"{size}, on {device} with {torch.get_num_threads()} CPU thread(s)")
    if flags.unknown:
        say(f"ignored, not flags of this script: {' '.join(flags.unknown)}")
    ready = time.perf_counter()
    history, best_epoch = train(model, data, val, flags, say)
    seconds = {"start_up": begun - STARTED, "data": ready - begun, "training": history[-1][-1]}
    loss, accuracy = evaluate(model, val)
    say(f"wrote model.pt, metrics.json, history.csv and training.log to {folder}")
    say(f"validation:accuracy = {accuracy:.4f}")
    say(f"validation:loss = {loss:.4f}")
    metrics = {
        "accuracy": accuracy, "loss": loss, "seconds": seconds, **place, "world_size": 1,
        "epochs": {"last": len(history), "best": best_epoch},
        "replicas": [{"rank": 0, "rows": {"start": 0, "stop": rows}}],
        "configuration": vars(flags),
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
    }  # fmt: skip
    state = {name: value.cpu().contiguous() for name, value in model.state_dict().items()}
    plain = {"features": features, "hidden": flags.hidden, "preparation": preparation}
    columns = ("epoch", "loss", "val_loss", "val_accuracy", "seconds")
    texts = {"history.csv": "".join(",".join(map(str, row)) + "\n" for row in (columns, *history))}
    if preparation:
        texts["preparation.json"] = preparation
    texts |= {
        "training.log": "\n".join(lines) + "\n",
        "metrics.json": json.dumps(metrics, indent=2),
    }
    write_results(folder, {"model": state, **plain}, texts)


def main(flags: argparse.Namespace) -> int:
    """Run, and turn what a user can mend into one sentence; returns the exit code."""
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    threads = torch.get_num_threads()
    try:
        run(flags, say, lines)
    except (Refused, OSError) as problem:
        print(f"train_nn.py: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("train_nn.py: interrupted, no model was written", file=sys.stderr)
        return 130  # what a shell reports after Ctrl-C
    finally:
        torch.set_num_threads(threads)  # a notebook that runs this file keeps its own number
    return 0


if FLAGS:
    sys.exit(main(FLAGS))
