"""Tables and checkpoints that nobody would call one, given to training/train_nn.py."""

from __future__ import annotations

import io
import os
import pickle
import random
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from testing.tally import Tally
from tests.lesson_code import SCRIPT

PATIENCE = 45.0  # seconds for one run, on a machine with much else to do


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch '{self.canary}'",)


def run(folder: Path, seconds: float) -> Tally:
    """Each is refused in a sentence, with exit code 2, or trains; no code of theirs runs."""
    tally, canary = Tally("tables"), folder / "unpickled"
    work = folder / "tables"
    work.mkdir()
    good = work / "good.npz"
    table(good)
    end = time.monotonic() + seconds
    cases = [*_tables(work, good, canary), *_checkpoints(work, good, canary)]
    cases += _damaged(work, good)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda case: _try(case[0], case[1], end), cases)
        for (name, _), verdict in zip(cases, said, strict=True):
            if verdict is None:
                tally.skipped = "some of the damaged ones, for the time was over"
            elif canary.exists():
                tally.lets_in(f"{name}: what it holds was run")
                canary.unlink()
            else:
                tally.check(not verdict, f"{name}: {verdict}")
    return tally


def _try(name: str, words: list[str], end: float) -> str | None:
    """What is wrong with how the script takes this; None if there is no time left."""
    if time.monotonic() > end and name.startswith("damaged"):
        return None
    command = [sys.executable, str(SCRIPT), "--epochs", "2", *words]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "it hangs"
    if done.returncode not in (0, 2):
        return f"exit code {done.returncode}: {done.stderr[-300:]}"
    if "Traceback" in done.stderr:
        return f"a traceback: {done.stderr[-300:]}"
    return ""


def table(path: Path, **changes: object) -> None:
    """A good archive, with some arrays put in place of its own."""
    rng = np.random.default_rng(0)
    arrays: dict[str, object] = {
        "X_train": rng.random((40, 7), dtype=np.float32),
        "y_train": np.tile([0.0, 1.0], 20).astype(np.float32),
        "X_val": rng.random((10, 7), dtype=np.float32),
        "y_val": np.tile([0.0, 1.0], 5).astype(np.float32),
    }
    np.savez(path, **{**arrays, **changes})  # type: ignore[arg-type]


def _case(name: str, train: Path, out: Path, *more: str) -> tuple[str, list[str]]:
    words = ["--train", str(train), "--val", str(train), "--model_dir", str(out / f"out-{name}")]
    return name, [*words, *more]


def _tables(work: Path, good: Path, canary: Path) -> Iterator[tuple[str, list[str]]]:
    arrays = {
        "pickled": np.array([Trap(canary)], dtype=object),
        "nan": np.full((40, 7), np.nan),
        "infinite": np.full((40, 7), np.inf),
        "complex": np.ones((40, 7), complex),
        "text": np.full((40, 7), "x"),
        "dates": np.zeros((40, 7), "datetime64[s]"),
        "void": np.zeros((40, 7), "V8"),
        "no-rows": np.zeros((0, 7)),
        "no-columns": np.zeros((40, 0)),
        "scalar": np.float64(1),
        "five-dimensions": np.zeros((2, 2, 2, 2, 2)),
        "huge-numbers": np.full((40, 7), 1e300),
    }
    for name, array in arrays.items():
        table(path := work / f"{name}.npz", X_train=array)
        yield _case(name, path, work)
    table(path := work / "preparation.npz", preparation="{" * 50_000)
    yield _case("nested-preparation", path, work)
    (path := work / "header.npz").write_bytes(good.read_bytes())
    with zipfile.ZipFile(path, "w") as file:
        head = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little")
        claim = "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 7), }"
        for name in ("X_train", "y_train", "X_val", "y_val"):
            file.writestr(f"{name}.npy", head + claim.ljust(117).encode() + b"\n")
    yield _case("claims-5-TB", path, work)
    with zipfile.ZipFile(path := work / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as file:
        claim = "{'descr': '|u1', 'fortran_order': False, 'shape': (300000000,), }"
        file.writestr("X_train.npy", head + claim.ljust(117).encode() + b"\n" + bytes(300_000_000))
    yield _case("zip-bomb", path, work)
    os.mkfifo(pipe := work / "pipe.npz")
    yield _case("named-pipe", pipe, work)
    for device in ("/dev/zero", "/dev/null", "/dev/stdin", "/proc/self/mem"):
        yield _case(f"device-{device.replace('/', '-')}", Path(device), work)
    (loop := work / "loop.npz").symlink_to(loop)
    yield _case("loop", loop, work)
    yield _case("folder", work / "nowhere" / "x.npz", work)
    yield _case("good", good, work)


def _checkpoints(work: Path, good: Path, canary: Path) -> Iterator[tuple[str, list[str]]]:
    """Checkpoints of a real run, with something else in their place."""
    import torch

    real = _interrupted(work, good)
    noise = random.Random(0)
    contents = {
        "pickle": lambda old: pickle.dumps(Trap(canary)),
        "empty": lambda old: b"",
        "noise": lambda old: noise.randbytes(2000),
        "half": lambda old: old[: len(old) // 2],
        "text": lambda old: b"{}",
    }
    for name, content in contents.items():
        (target := work / f"checkpoint-{name}").mkdir()
        (target / "checkpoint.pt").write_bytes(content(real))
        yield _resuming(name, good, work)
    for name, value in _states(canary, torch.load(io.BytesIO(real), weights_only=True)).items():
        (target := work / f"checkpoint-{name}").mkdir()
        torch.save(value, target / "checkpoint.pt")
        yield _resuming(name, good, work)


def _resuming(name: str, good: Path, work: Path) -> tuple[str, list[str]]:
    """A run that finds a checkpoint in the folder of this name."""
    words = ["--checkpoint_every", "1", "--checkpoint_dir", str(work / f"checkpoint-{name}")]
    return _case(f"checkpoint-{name}", good, work, *words)


def _interrupted(work: Path, good: Path) -> bytes:
    """The checkpoint that a real run has left when it was killed."""
    words = ["--epochs", "1000000", "--patience", "0", "--checkpoint_every", "1"]
    _, words = _case("real", good, work, *words, "--checkpoint_dir", str(work / "real"))
    whole = work / "real" / "checkpoint.pt"
    with subprocess.Popen([sys.executable, str(SCRIPT), *words], stdout=subprocess.DEVNULL) as run:
        end = time.monotonic() + PATIENCE
        while not whole.exists() and time.monotonic() < end:
            time.sleep(0.05)
        run.kill()
    return whole.read_bytes()


def _states(canary: Path, real: dict[str, object]) -> dict[str, object]:
    """What no run has left, alone and in the place of a part of a real checkpoint."""
    import torch

    return {
        "trap": {"model": Trap(canary)},
        "list": [1, 2, 3],
        "number": 7,
        "empty-state": {},
        "wrong-keys": real | {"model": {"x": torch.zeros(3)}},
        "wrong-types": real | {"model": "text", "optimizer": None},
        "wrong-history": real | {"history": -5},
        "wrong-shuffle": real | {"shuffle": torch.zeros(3)},
        "trap-inside": real | {"best": Trap(canary)},
    }


def _damaged(work: Path, good: Path) -> Iterator[tuple[str, list[str]]]:
    """The good archive with some bytes changed, as many as there is time for."""
    whole = good.read_bytes()
    for seed in range(40):
        chosen, content = random.Random(seed), bytearray(whole)
        for _ in range(chosen.randint(1, 8)):
            content[chosen.randrange(len(content))] = chosen.randrange(256)
        if chosen.random() < 0.3:
            del content[chosen.randrange(len(content)) :]
        (path := work / f"damaged-{seed}.npz").write_bytes(content)
        yield _case(f"damaged-{seed}", path, work)
