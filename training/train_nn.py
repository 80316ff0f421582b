"""Train a small neural network that answers yes or no about each row of a table.

Run it in a terminal or, with %run, in a notebook, or send it to a training service. It is one file
and imports nothing of the project it comes from: copy it for your own table.
    python train_nn.py --train train_data.npz --val val_data.npz --epochs 200 --batch_size 64
Reads   --train: an npz archive with X_train (rows, features) and y_train (rows,), labels 0 or 1
        --val: an npz archive with X_val and y_val of the same kind
Writes  model.pt, metrics.json, history.csv and training.log side by side into --model_dir, and
        preparation.json where the training archive carries the preparation it was made with
Exits   with 0 when the model is written; with 2 and one sentence when an input cannot be used
"""

import argparse
import gc
import importlib.util
import io
import json
import math
import os
import platform
import sys
import tempfile
import time
import tokenize
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
    if low <= value <= 2**53 and cast(value) == value:  # up to there a float is exact
        return cast(value)
    kind = {int: "whole number", float: "number"}[cast]
    raise argparse.ArgumentTypeError(f"needs a {kind} from {low} up, not {text!r}")


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake costs one sentence instead of a page of usage."""

    def error(self, message: str) -> Any:
        """Say the mistake and leave with exit code 2."""
        self.exit(2, f"train_nn.py: {message}; --help lists the flags\n")


# fmt: off
def parse_flags(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the flags; those that a service adds and this script does not know end in `unknown`."""
    parser = Parser("train_nn.py", description=(__doc__ or "").split("\n")[0], allow_abbrev=False,
                    formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    flag, whole, real = parser.add_argument, partial(numeric, 0, int), partial(numeric, 0, float)
    from_1 = partial(numeric, 1, int)
    flag("--train", required=True, help="npz archive with X_train and y_train")
    flag("--val", required=True, help="npz archive with X_val and y_val")
    flag("--epochs", type=from_1, default=1000, help="passes over the training rows, at most")
    flag("--learning_rate", type=real, default=0.001, help="how far a step moves the weights")
    flag("--batch_size", type=whole, default=0, help="rows per step; 0: all rows")
    flag("--hidden", type=lambda text: [from_1(item) for item in text.split(",")],
         default=[64, 32], metavar="64,32", help="widths of the hidden layers")
    flag("--patience", type=whole, default=50, help="stop after N epochs without gain; 0: never")
    flag("--min_delta", type=real, default=0.0, help="smaller gains do not count")
    flag("--restore_best", type=lambda text: {"true": True, "false": False}.get(text.lower(), text),
         choices=(True, False), default=True, help="keep the best weights, not the last")
    flag("--seed", type=whole, default=0, help="same seed, same machine: same model")
    flag("--device", default="auto", help="auto, cpu, cuda, mps or xla")
    flag("--model_dir", help="folder for the results; or AIP_MODEL_DIR, or SM_MODEL_DIR",
         default=os.environ.get("AIP_MODEL_DIR") or os.environ.get("SM_MODEL_DIR") or ".")
    flags, unknown = parser.parse_known_args(arguments)
    for name in ("--parallelism", "--checkpoint_every", "--checkpoint_dir"):
        if name in (item.split("=")[0] for item in unknown):
            parser.error(f"{name} is not implemented yet")
    if unknown and not unknown[0].startswith("-"):
        parser.error(f"{unknown[0]!r} belongs to no flag")
    return argparse.Namespace(**vars(flags), unknown=unknown)
# fmt: on


# torch takes about a second to import: --help and a mistaken flag should not have to wait for it.
FLAGS = parse_flags() if __name__ == "__main__" else None

import numpy as np
import torch
from torch.nn import Linear, ReLU, Sequential
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.optim.adam import adam

# Importing torch makes objects by the hundred thousand that live to the end: collecting them would
# cost a fifth of the time to start and leave (benchmarks/). A notebook's objects are not ours.
if __name__ == "__main__" and "IPython" not in sys.modules:
    gc.freeze()

Table = tuple[torch.Tensor, torch.Tensor]  # X (rows, features) and y (rows, 1), both float32


# ---- place --------------------------------------------------------------------------------------
def choose_device(wanted: str) -> torch.device:
    """The device to train on; `auto` takes the first of CUDA, TPU and Apple GPU that is there."""
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    here = {"cuda": cuda, "xla": importlib.util.find_spec("torch_xla"), "mps": mps, "cpu": True}
    usable = [name for name, there in here.items() if there]
    name = usable[0] if wanted == "auto" else wanted.lower()
    need(name in usable, f"--device {wanted}: here torch can use {' or '.join(usable)}; name one")
    return importlib.import_module("torch_xla").device() if name == "xla" else torch.device(name)


def choose_threads(rows_per_step: int, weights: int) -> int:
    """One CPU thread for each 25 million operations of a step: less gains nothing (benchmarks/)."""
    operations = 6 * rows_per_step * weights  # multiply and add: once forward, twice backward
    return max(1, min(torch.get_num_threads(), operations // 25_000_000))


# ---- data ---------------------------------------------------------------------------------------
def read_table(path: str, part: str) -> tuple[Table, str]:
    """X_<part> and y_<part> of an archive, checked, and the preparation it may carry, else ""."""
    where, X_name, y_name = f"--{part} {path}:", f"X_{part}", f"y_{part}"
    need("://" not in path, f"{where} reading from a bucket is not implemented yet; give a file")
    advice = "give an npz archive of plain arrays, as numpy.savez writes it"
    names = (X_name, y_name, "preparation")
    try:  # a damaged archive makes numpy and zipfile raise almost anything
        with open(path, "rb") as file:
            need(zipfile.is_zipfile(file), f"{where} is no whole npz archive; {advice}")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:  # a pickle could run code
                arrays = {name: np.asarray(archive[name]) for name in names if name in archive}
    except (ArithmeticError, EOFError, LookupError, MemoryError, OSError, RuntimeError, SyntaxError,
            TypeError, ValueError, tokenize.TokenError, zipfile.BadZipFile,
            zlib.error) as problem:  # fmt: skip
        reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        reason = "it holds text or mixed columns" if "pickle" in reason else reason
        raise Refused(f"{where} cannot be read ({reason.splitlines()[0]}); {advice}") from None
    for name in (X_name, y_name):
        need(name in arrays, f"{where} there is no array {name}; name the arrays in numpy.savez")
        dtype = arrays[name].dtype
        need(dtype.kind in "biuf", f"{where} {name} holds {dtype}; encode it as numbers")
    X, y = arrays[X_name], arrays[y_name]
    need(X.ndim == 2 and X.size, f"{where} {X_name} has shape {X.shape}; make it (rows, features)")
    one_each = y.shape in ((len(X),), (len(X), 1))
    need(one_each, f"{where} {y_name} has shape {y.shape}; give each of {len(X)} rows one label")
    with np.errstate(over="ignore"):  # what is too large for float32 becomes inf: refused below
        X, y = X.astype(np.float32), y.astype(np.float32).reshape(-1, 1)
    bad = np.argwhere(~np.isfinite(X))
    if len(bad):
        first = f"first in row {bad[0][0]}, column {bad[0][1]} (from 0); fill in or drop the rows"
        raise Refused(f"{where} {X_name} has {len(bad)} missing or infinite values, {first}")
    need(np.isin(y, (0, 1)).all(), f"{where} {y_name} has labels other than 0 (no) and 1 (yes)")
    preparation = arrays.get("preparation", np.array(""))
    need(preparation.dtype.kind == "U", f"{where} preparation is no text; write it as JSON")
    return (torch.from_numpy(X), torch.from_numpy(y)), str(preparation)


# ---- model --------------------------------------------------------------------------------------
def build_model(features: int, hidden: Sequence[int], seed: int, device: str = "cpu") -> Sequential:
    """Linear layers with ReLU between them; the output is one logit per row: above 0 means yes."""
    layers: list[torch.nn.Module] = []
    with torch.random.fork_rng(devices=[]):  # a notebook's random state is left as it was
        torch.manual_seed(seed)
        for inputs, outputs in zip([features, *hidden], [*hidden, 1], strict=True):
            linear = Linear(inputs, outputs)
            if (
                str(device) == "cpu"
            ):  # transposed in memory, where a narrow layer's gradient is fast
                linear.weight = torch.nn.Parameter(linear.weight.detach().t().contiguous().t())
            layers += [linear, ReLU(inplace=True)]
    return Sequential(*layers[:-1]).to(device)  # made on the CPU: every device starts alike


def adam_step(parameters: list[Any], learning_rate: float) -> Callable[[Sequence[Any]], None]:
    """Return a function that takes the gradients and moves the parameters by one step of Adam."""
    # The class torch.optim.Adam does the same, but first imports torch's compiler: one second.
    means, squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    counts = [torch.zeros((), device=p.device) for p in parameters]
    fused = parameters[0].device.type in ("cpu", "cuda")  # all parameters in one pass over memory

    @torch.no_grad()
    def step(gradients: Sequence[Any]) -> None:
        adam(parameters, list(gradients), means, squares, [], counts, fused=fused,
             lr=learning_rate, beta1=0.9, beta2=0.999, eps=1e-8,  # the class's own defaults
             weight_decay=0.0, amsgrad=False, maximize=False)  # fmt: skip

    return step


# ---- training -----------------------------------------------------------------------------------
@torch.no_grad()
def evaluate(model: Sequential, X: torch.Tensor, y: torch.Tensor) -> tuple[float, float]:
    """The mean loss on a table, and the share of its rows that the model gets right."""
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
    """Train until epochs or patience run out; returns history and best epoch, and sets weights."""
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
        val_loss, accuracy = evaluate(model, *val)
        now = time.perf_counter()
        history.append((epoch, loss, val_loss, accuracy, now - begun))
        need(math.isfinite(val_loss), f"no finite loss in epoch {epoch}; lower --learning_rate")
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
def open_folder(path: str) -> Path:
    """The folder for the results: made, and seen to be writable, before the training."""
    need("://" not in path, f"--model_dir {path}: writing to a bucket is not implemented yet")
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as problem:
        raise Refused(f"--model_dir {path}: {problem.strerror}; name another folder") from None
    return Path(path)


def write_results(folder: Path, results: dict[str, bytes]) -> None:
    """Write every result elsewhere first, then move them: nobody meets half a result."""
    with tempfile.TemporaryDirectory(dir=folder) as elsewhere:
        for name, content in results.items():
            Path(elsewhere, name).write_bytes(content)
        for name in results:
            Path(elsewhere, name).replace(folder / name)


def run(flags: argparse.Namespace, say: Callable[..., None], said: list[str]) -> None:
    """Read the data, train the model, write the results; `said` holds the lines of the log."""
    begun = time.perf_counter()
    (data, preparation), (val, _) = read_table(flags.train, "train"), read_table(flags.val, "val")
    (rows, features), (_, others) = data[0].shape, val[0].shape
    need(others == features, f"--train has {features} features, --val {others}; prepare both alike")
    folder, device = open_folder(flags.model_dir), choose_device(flags.device)
    model = build_model(features, flags.hidden, flags.seed, str(device))
    weights = sum(p.numel() for p in model.parameters())
    torch.set_num_threads(threads := choose_threads(min(flags.batch_size or rows, rows), weights))
    # glibc hands freed blocks back at once, until it has freed one of nearly 32 MiB, its limit: by
    # this one, large batches find the memory of the step before, and are twice as fast.
    torch.empty(8 * 2**20 - 4096)
    data, val = ((X.to(device), y.to(device)) for X, y in (data, val))
    steps = -(-rows // (flags.batch_size or rows))  # rounded up: the last batch may be short
    say(f"{rows} rows, {features} features, {weights} weights, {steps} steps an epoch, on {device}")
    if flags.unknown:
        say(f"ignored, not flags of this script: {' '.join(flags.unknown)}")
    ready = time.perf_counter()
    history, best = train(model, data, val, flags, say)
    seconds = {"start_up": begun - STARTED, "data": ready - begun, "training": history[-1][-1]}
    loss, accuracy = evaluate(model, *val)
    metrics = {
        "accuracy": accuracy, "loss": loss, "seconds": seconds, "world_size": 1,
        "epochs": {"last": len(history), "best": best},
        "replicas": [{"rank": 0, "rows": {"start": 0, "stop": rows}}],
        "device": str(device), "threads": threads, "configuration": vars(flags),
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
    }  # fmt: skip
    state = {name: value.cpu().contiguous() for name, value in model.state_dict().items()}
    about = {"features": features, "hidden": flags.hidden, "preparation": preparation}
    torch.save({"model": state, **about}, model_file := io.BytesIO())
    columns = ("epoch", "loss", "val_loss", "val_accuracy", "seconds")
    table = "".join(",".join(map(str, row)) + "\n" for row in (columns, *history))
    last = [f"wrote model.pt, metrics.json, history.csv and training.log to {folder}",
            f"validation:accuracy = {accuracy:.4f}", f"validation:loss = {loss:.4f}"]  # fmt: skip
    log, text = "\n".join([*said, *last, ""]), json.dumps(metrics, indent=2)
    results = {"model.pt": model_file.getvalue(), "history.csv": table.encode()}
    results |= {"preparation.json": preparation.encode()} if preparation else {}
    results |= {"training.log": log.encode(), "metrics.json": text.encode()}
    write_results(folder, results)
    if not preparation:  # one that an earlier run left here would belong to another model
        (folder / "preparation.json").unlink(missing_ok=True)
    say(*last)


def main(flags: argparse.Namespace) -> int:
    """Run, and turn what a user can mend into one sentence; returns the exit code."""
    said: list[str] = []

    def say(*lines: str) -> None:
        said.extend(lines)
        print(*lines, sep="\n", flush=True)

    threads = torch.get_num_threads()
    try:
        run(flags, say, said)
    except (Refused, OSError) as problem:  # an OSError names its file
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
