"""The script on one GPU, against bare loops and against the device's own matrix product.

`python -m tools.benchmarks.gpu` on a machine with an NVIDIA GPU prints tables in Markdown; it needs
torch and numpy, and Lightning for its column. `--device cpu --small` runs all of it that a CPU has
on tiny tables, to see that it works. `--script PATH` measures another version of the script.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from testing.measure import as_table, last_line, output, ratio, say, take_turns
from tools.benchmarks.script import SCRIPT
from tools.benchmarks.versions import command

PRECISIONS = ("float32", "tf32", "bfloat16")
TURNS = 3


class Sizes(NamedTuple):
    """What is measured."""

    steps: dict[int, int]  # rows of a step, and steps of an epoch
    features: int  # of the wide table
    hidden: list[int]
    batch: int
    wide_steps: int


LARGE = Sizes({64: 1024, 1024: 1024, 16_384: 128}, 512, [4096, 4096, 4096], 16_384, 16)
SMALL = Sizes({64: 16, 256: 16}, 32, [64, 64, 64], 256, 8)


class Setting(NamedTuple):
    """Where the tables are, and what is run."""

    folder: Path
    device: str
    script: Path
    sizes: Sizes
    precisions: tuple[str, ...]  # that the script has


def script_step(
    at: Setting, features: int, hidden: list[int], batch: int, steps: int, precision: str
) -> float:
    """Return the seconds of a step of the script, by its own history.csv."""
    table = at.folder / f"{features}-{batch}.npz"
    if not table.exists():
        command.write_table(table, batch * steps, features)
    flags: dict[str, Any] = {"device": at.device, "hidden": command.comma(hidden)}
    if at.precisions:
        flags["precision"] = precision
    return command.epoch(at.script, table, batch_size=batch, **flags) / steps


def bare_step(
    at: Setting, kind: str, features: int, hidden: list[int], batch: int, precision: str
) -> float:
    """Return the seconds of a step of a bare loop, or of a matrix product."""
    shape = (str(features), json.dumps(hidden), str(batch))
    seconds: float = last_line(
        "-m", "tools.benchmarks.gpu.bare_loops", kind, at.device, precision, *shape
    )
    return seconds


def lightning_step(at: Setting, batch: int) -> float:
    """Return the seconds of a step of Lightning on 7-64-32-1."""
    accelerator = "gpu" if at.device == "cuda" else "cpu"
    return batch / float(
        output("-m", "tools.benchmarks.steps.step", "lightning", str(batch), accelerator)
    )


def narrow(at: Setting) -> str:
    """Measure a step of 7-64-32-1, in microseconds."""
    hidden, lines = [64, 32], []
    kinds = ("eager", "graph") if at.device == "cuda" else ("eager",)
    for batch, steps in at.sizes.steps.items():
        measures = {"train_nn.py": partial(script_step, at, 7, hidden, batch, steps, "float32")}
        for kind in kinds:
            measures[kind] = partial(bare_step, at, kind, 7, hidden, batch, "float32")
        if importlib.util.find_spec("lightning"):
            measures["Lightning"] = partial(lightning_step, at, batch)
        say(f"7-64-32-1, {batch} rows: {', '.join(measures)} take turns ...")
        taken = take_turns(measures, TURNS)
        others = [name for name in measures if name != "train_nn.py"]
        times = [f"{ratio(taken['train_nn.py'], taken[name]):.2f}" for name in others]
        lines.append((f"{batch:,}", *(micro(each) for each in taken.values()), *times))
    columns = ("rows", *measures, *(f"train_nn.py / {name}" for name in others))
    return f"#### A step of 7-64-32-1, microseconds\n\n{as_table(columns, lines)}"


def micro(seconds: list[float]) -> str:
    """Return the median in microseconds."""
    return f"{1e6 * statistics.median(seconds):,.0f}"


def wide(at: Setting) -> str:
    """Measure milliseconds and TFLOP/s of a step of a wide network, in each precision."""
    sizes, lines = at.sizes, []
    shape = (sizes.features, sizes.hidden, sizes.batch)
    # Multiply and add: once forward, twice backward.
    products = sum(a * b for a, b in pairwise([sizes.features, *sizes.hidden, 1]))
    operations = 6 * products * sizes.batch
    for precision in here(PRECISIONS, at.device):
        measures = {}
        if precision in (at.precisions or PRECISIONS[:1]):
            script = partial(script_step, at, *shape, sizes.wide_steps, precision)
            measures["train_nn.py"] = script
        measures["eager loop"] = partial(bare_step, at, "eager", *shape, precision)
        measures["matrix product"] = partial(bare_step, at, "matmul", *shape, precision)
        say(f"{name(sizes)}, {sizes.batch} rows, {precision}: {', '.join(measures)} ...")
        taken = take_turns(measures, TURNS)
        product = statistics.median(taken.pop("matrix product"))
        peak = 2 * sizes.batch * max(sizes.hidden) ** 2 / product
        for what, steps in taken.items():
            step = statistics.median(steps)
            rate = operations / step
            cells = (f"{1e3 * step:.2f}", f"{rate / 1e12:,.1f}", f"{rate / peak:.2f}")
            lines.append((precision, what, *cells))
        lines.append((precision, "matrix product", "", f"{peak / 1e12:,.1f}", ""))
    columns = ("precision", "what", "a step, ms", "TFLOP/s", "of the matrix product")
    heading = f"#### A step of {name(sizes)}, {sizes.batch:,} rows"
    return f"{heading}\n\n{as_table(columns, lines)}"


def name(sizes: Sizes) -> str:
    """Return the network's widths."""
    return "-".join(map(str, (sizes.features, *sizes.hidden, 1)))


def weights(folder: Path) -> Any:
    """Return all weights of a model, by name."""
    import torch

    return torch.load(folder / "model.pt", weights_only=True, map_location="cpu")["model"]


def identical(one: Path, other: Path) -> str:
    """Return whether two models have the same bits."""
    import torch

    first, second = weights(one), weights(other)
    same = all(torch.equal(first[name], second[name]) for name in first)
    return "identical" if same else "**different**"


def compare_repeats(at: Setting) -> str:
    """Compare two runs of the same command, and one that is stopped and resumed."""
    table, lines = command.write_table(at.folder / "repeated.npz", 64 * 256, 7), []
    for precision in here(at.precisions or PRECISIONS[:1], at.device):
        say(f"{precision}: two runs, and one that is stopped and resumed ...")
        flags: dict[str, Any] = {"device": at.device, "batch_size": 64, "epochs": 40}
        flags |= {"checkpoint_every": 2} | ({"precision": precision} if at.precisions else {})
        runs = [at.folder / f"{precision}-{which}" for which in ("one", "two", "stopped")]
        for run in runs[:2]:
            command.train(at.script, table, run, **flags)
        code = stop(at, table, runs[2], flags)
        command.train(at.script, table, runs[2], **flags)
        metrics = json.loads((runs[2] / "metrics.json").read_text(encoding="utf-8"))
        how = f"exit code {code}, resumed in epoch {metrics['epochs']['resumed']}"
        cells = (identical(runs[0], runs[1]), identical(runs[0], runs[2]), how)
        lines.append((precision, *cells))
    columns = ("precision", "two runs", "a resumed run", "how it was stopped")
    return f"#### The same weights, to the last bit\n\n{as_table(columns, lines)}"


def stop(at: Setting, table: Path, run: Path, flags: dict[str, Any]) -> int:
    """Start a run, end it by SIGTERM once it has a checkpoint, and return its exit code."""
    words = command.words(table, run, **flags)
    process = subprocess.Popen([sys.executable, str(at.script), *words], stdout=subprocess.DEVNULL)
    while process.poll() is None and not list((run / "checkpoints").rglob("*.pt")):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    return process.wait()


def here(precisions: tuple[str, ...], device: str) -> list[str]:
    """Return the precisions that a device has."""
    return [each for each in precisions if device == "cuda" or each != "tf32"]


def where(device: str) -> str:
    """Return the device and the versions."""
    import torch

    gpu = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return f"{gpu}, torch {torch.__version__}, Python {platform.python_version()}"


def main() -> None:
    """Print each table as soon as it is measured."""
    parser = argparse.ArgumentParser("tools.benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--small", action="store_true", help="tiny tables")
    parser.add_argument("--script", type=Path, default=SCRIPT)
    parser.add_argument("--only", default="narrow,wide,repeated", metavar="NAME,NAME")
    flags = parser.parse_args()
    script = flags.script.resolve()
    print(f"{where(flags.device)}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        sizes = SMALL if flags.small else LARGE
        help_text = output(str(script), "--help")
        precisions = PRECISIONS if "--precision" in help_text else ()
        at = Setting(Path(folder), flags.device, script, sizes, precisions)
        sections = {"narrow": narrow, "wide": wide, "repeated": compare_repeats}
        for section in flags.only.split(","):
            print(sections[section](at), flush=True)


if __name__ == "__main__":
    main()
