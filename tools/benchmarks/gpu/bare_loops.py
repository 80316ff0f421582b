"""Training steps as short as PyTorch allows, and a matrix product: what a GPU can do.

`python -m tools.benchmarks.gpu.bare_loops KIND DEVICE PRECISION FEATURES HIDDEN BATCH` prints the
seconds of a step as JSON. KIND: `eager`, forward, backward and a fused Adam on batches that lie on
the device; `graph`, the same recorded once as a CUDA graph and replayed, each batch copied into
place; or `matmul`, one product of (BATCH, widest) by (widest, widest). PRECISION: float32, tf32 or
bfloat16 (autocast).
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import nn

TURNS, WARM_UP = 5, 2  # of STEPS steps each
STEPS = 64
BATCHES = 4  # different ones, taken in turn


def network(features: int, hidden: list[int]) -> nn.Sequential:
    """Return linear layers with ReLU between them."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise([features, *hidden, 1]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def wait(device: str) -> None:
    """Wait until the device has done what it was given."""
    if device == "cuda":
        torch.cuda.synchronize()


def stepper(
    device: str, precision: str, features: int, hidden: list[int], batch: int, graph: bool
) -> Callable[[Any, Any], object]:
    """Return a function that does one step on a batch."""
    model = network(features, hidden).to(device)
    fused: Any = {"fused": True, "capturable": True} if device == "cuda" else {"fused": True}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, **fused)
    loss_function = nn.BCEWithLogitsLoss()
    low = precision == "bfloat16"

    def step(X: Any, y: Any) -> None:
        optimizer.zero_grad(set_to_none=not graph)
        with torch.autocast(device, torch.bfloat16, enabled=low, cache_enabled=not graph):
            loss = loss_function(model(X).float(), y)
        loss.backward()
        optimizer.step()

    return record_graph(step, features, batch) if graph else step


def record_graph(
    step: Callable[[Any, Any], None], features: int, batch: int
) -> Callable[[Any, Any], object]:
    """Return the step as a CUDA graph, as torch's notes on graphs record one."""
    X, y = torch.zeros(batch, features, device="cuda"), torch.zeros(batch, 1, device="cuda")
    make_stream: Any = torch.cuda.Stream  # has no types
    aside = make_stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step(X, y)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(X, y)

    def replay(rows: Any, labels: Any) -> None:
        X.copy_(rows)
        y.copy_(labels)
        graph.replay()

    return replay


def step_seconds(step: Callable[[int], object], device: str) -> float:
    """Return the median over the turns; the first turns are not counted."""
    taken = []
    for _ in range(WARM_UP + TURNS):
        wait(device)
        begun = time.perf_counter()
        for number in range(STEPS):
            step(number)
        wait(device)
        taken.append((time.perf_counter() - begun) / STEPS)
    return statistics.median(taken[WARM_UP:])


def main() -> None:
    """Measure one kind."""
    kind, device, precision = sys.argv[1:4]
    features, batch, hidden = int(sys.argv[4]), int(sys.argv[6]), json.loads(sys.argv[5])
    if device == "cpu":
        torch.set_num_threads(1)  # a second one only waits, where others work too
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    if kind == "matmul":
        dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        rows = torch.randn(batch, max(hidden), device=device, dtype=dtype)
        weights = torch.randn(max(hidden), max(hidden), device=device, dtype=dtype)
        print(json.dumps(step_seconds(lambda _: rows @ weights, device)))
        return
    X = torch.randn(BATCHES, batch, features, device=device)
    y = (X[:, :, :1] > 0).float()
    step = stepper(device, precision, features, hidden, batch, kind == "graph")
    print(json.dumps(step_seconds(lambda n: step(X[n % BATCHES], y[n % BATCHES]), device)))


if __name__ == "__main__":
    main()
