"""One of several replicas that train one network, or the same work without a word between them.

`python -m tools.benchmarks.replicas.replica TRAINER HIDDEN BATCH`, started by turns.together(),
prints as JSON the rows that all replicas together train on in a second, and the bytes that this one
holds. TRAINER:

- train_nn, train_nn-model: this project's script, with --parallelism data and model
- apart: each process trains a network of its own on its share of the rows, and tells nobody: what
  the machine allows
- ddp: the loop that most would write (ddp_loop.py); fsdp: the same with fully_shard()
- matmul: no training, but float32 operations per second of all processes together

BATCH is that of all replicas together, and the epochs begin together.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

import train_nn as script
from tools.benchmarks.replicas.ddp_loop import ddp, fsdp
from tools.benchmarks.script import FEATURES
from tools.benchmarks.steps import epochs

ROWS = 16_384  # of an epoch
SECONDS = 3.0  # of epochs, at least


def table() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same rows for each replica."""
    X = torch.randn(ROWS, FEATURES, generator=torch.Generator().manual_seed(0))
    return X, (X[:, :1] + X[:, 1:2] * X[:, 2:3] > 0).float()


def train_nn(
    hidden: list[int], batch: int, X: Any, y: Any, place: tuple[int, int], parallelism: str
) -> tuple[Callable[[], object], dict[str, int]]:
    """Run one epoch as in the script's fit(), shuffle included.

    Return it and the bytes of this replica.
    """
    rank, replicas = (0, 1) if parallelism == "model" else place
    table = epochs.table_of(X, y, rank, replicas)
    training = epochs.ready_to_train(table, hidden, batch, script.Replica(*place))
    epochs.train_one_epoch(training)  # Adam's state is made in the first step
    held: Any = script.describe_replicas(training)[rank]["bytes"]
    torch.set_num_threads(1)
    return partial(epochs.train_one_epoch, training), held


def matmul() -> None:
    """Multiply ten pairs of 1,024 x 1,024."""
    left = torch.ones(1024, 1024)
    for _ in range(10):
        torch.mm(left, left)


def epoch_seconds(epoch: Callable[[], object]) -> float:
    """Return the median epoch.

    The first one is not counted, and all replicas begin each together.
    """
    taken: list[float] = []
    enough = torch.zeros(1)
    while not enough:
        dist.barrier()
        begun = time.perf_counter()
        epoch()
        taken.append(time.perf_counter() - begun)
        enough.fill_(len(taken) > 3 and sum(taken) > SECONDS)
        dist.all_reduce(enough)
    return statistics.median(taken[1:])


def choose(
    trainer: str, hidden: list[int], batch: int, place: tuple[int, int]
) -> tuple[Any, dict[str, int]]:
    """Return an epoch of this trainer, and the bytes that this replica holds."""
    if trainer == "matmul":
        return matmul, {}
    X, y = table()
    size = place[1]
    if trainer == "apart":
        own = slice(0, ROWS // size)
        return train_nn(hidden, batch // size, X[own], y[own], (0, 1), "data")
    if trainer in ("ddp", "fsdp"):
        return {"ddp": ddp, "fsdp": fsdp}[trainer](hidden, batch // size, X, y)
    return train_nn(hidden, batch, X, y, place, trainer.partition("-")[2] or "data")


def main() -> None:
    """Join, train, and print."""
    trainer, hidden, batch = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    if trainer in ("ddp", "fsdp"):
        dist.init_process_group("gloo")
        place = dist.get_rank(), dist.get_world_size()
    else:
        replica = script.find_replicas(os.environ)
        if replica.size > 1:
            script.join(replica, torch.device("cpu"))
        else:  # epoch_seconds() waits for all, of which there is one
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
            dist.init_process_group("gloo", rank=0, world_size=1)
        place = replica.rank, replica.size
    torch.set_num_threads(1)
    epoch, held = choose(trainer, hidden, batch, place)
    taken = epoch_seconds(epoch)
    work = place[1] * 10 * 2 * 1024**3 if trainer == "matmul" else ROWS
    ms = 1000 * taken * batch / ROWS
    print(json.dumps({"rate": work / taken, "ms": ms, "bytes": held}), flush=True)
    os._exit(0)  # some of torch's threads would abort a process that ends in order


if __name__ == "__main__":
    main()
