"""Make steps fast on a GPU: lower precision, and steps as CUDA graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

story: Any  # train_nn.py, which loads this file

SHAPES = 16  # of batches, for each of which a graph is kept


def prepare(t: Any) -> None:
    """Let the model compute in the precision of the flags, and on a GPU let graphs do the steps."""
    device, precision = next(t.model.parameters()).device, t.flags.precision
    story.exchange(lambda: check(device, precision), f"--precision {precision}: ")
    if precision != "float32":
        t.model.forward = in_precision(t.model.forward, device, precision)
    if precision == "tf32":  # the backward pass too multiplies
        t.compute_gradients = with_tf32(t.compute_gradients)
    if device.type == "cuda" and not t.shared:  # replicas that share layers meet in the middle of
        graphs = Graphs(t)  # a step
        t.compute_gradients, t.optimizer.step = graphs.compute_gradients, graphs.step


# ---- precision -----------------------------------------------------------------------------------
def check(device: torch.device, precision: str) -> None:
    """Refuse a precision that this device does not have."""
    advice = "take --precision float32"
    if precision == "tf32":
        has = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
        story.require(
            has,
            f"{device.type} here does not have it, CUDA GPUs have it from Ampere "
            f"(A100, L4) on; {advice}",
        )
    if precision == "bfloat16":
        one = torch.ones(1, 1, device=device)
        with torch.autocast(device.type, torch.bfloat16):
            product = one @ one
        has = product.dtype == torch.bfloat16
        story.require(has, f"{device.type} here does not have it; {advice}")


def in_precision(
    forward: Callable[..., Any], device: torch.device, precision: str
) -> Callable[..., Any]:
    """Return a model's forward pass in this precision; logits and the loss stay float32."""
    if precision == "tf32":
        return with_tf32(forward)

    def reduced(X: torch.Tensor) -> torch.Tensor:
        # A graph would go on reading the weights that the cache has converted once.
        with torch.autocast(device.type, torch.bfloat16, cache_enabled=False):
            logits: torch.Tensor = forward(X)
        return logits.to(X.dtype)

    return reduced


@contextlib.contextmanager
def tf32() -> Iterator[None]:
    """Multiply float32 matrices as TF32; a notebook's own setting comes back."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def with_tf32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with TF32 on, as long as it runs."""

    def faster(*arguments: Any) -> Any:
        with tf32():
            return function(*arguments)

    return faster


# ---- CUDA graphs ---------------------------------------------------------------------------------
class Graphs:
    """A step's many kernels as two launches: the gradients of a batch, and the optimizer's step."""

    def __init__(self, t: Any) -> None:
        """Keep what the graphs replace, which does what they cannot."""
        self.t, self.eager, self.eager_step = t, t.compute_gradients, t.optimizer.step
        cuda: Any = torch.cuda  # which has no types for these
        self.pool, self.stream = cuda.graph_pool_handle(), cuda.Stream()
        self.batches: dict[Any, Any] = {}  # graph, X, y and loss by their shape
        self.stepping: Any = None
        self.usable = True

    def compute_gradients(self, model: Any, X: torch.Tensor, y: torch.Tensor, rows: int) -> Any:
        """Do the story's compute_gradients() by a graph, one for each shape of a batch."""
        shape = (X.shape, rows)
        if self.usable and len(X) and shape not in self.batches and len(self.batches) < SHAPES:
            own = X.clone(), y.clone()  # where the graph reads its batch
            changed = [self.t.optimizer.message]
            graph, loss = self.capture(lambda: self.eager(model, *own, rows), changed)
            if graph:
                self.batches[shape] = graph, *own, loss
        if shape not in self.batches:
            return self.eager(model, X, y, rows)
        graph, own_X, own_y, loss = self.batches[shape]
        own_X.copy_(X)
        own_y.copy_(y)
        graph.replay()
        return loss

    def step(self) -> None:
        """Do the optimizer's step by a graph."""
        if self.usable and not self.stepping:  # now, not earlier: a checkpoint may have been read
            optimizer = self.t.optimizer
            changed = [optimizer.weights, *optimizer.state]
            self.stepping, _ = self.capture(self.eager_step, changed)
        self.stepping.replay() if self.stepping else self.eager_step()

    def capture(self, work: Callable[[], Any], changed: list[torch.Tensor]) -> tuple[Any, Any]:
        """Return a graph of what work() does, and its result; or None, and say why.

        changed: the tensors that it changes; they, and random numbers, are left as they were.
        """
        held = [each.clone() for each in changed]
        try:
            with torch.random.fork_rng(devices=[torch.cuda.current_device()]):
                self.stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(self.stream):  # libraries set themselves up in first calls
                    for _ in range(3):
                        work()
                torch.cuda.current_stream().wait_stream(self.stream)
            graph = torch.cuda.CUDAGraph()
            # thread_local: NCCL's own thread looks after its messages meanwhile.
            with torch.cuda.graph(
                graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"
            ):
                result = work()
        except RuntimeError as problem:
            self.usable = False
            line = f"steps do not run as CUDA graphs ({str(problem).splitlines()[0]})"
            if self.t.rank == 0:
                self.t.log.append(line)
                print(line, flush=True)
            return None, None
        finally:
            for each, before in zip(changed, held, strict=True):
                each.copy_(before)
        return graph, result
