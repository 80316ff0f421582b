"""The loop that most would write for several replicas: DistributedDataParallel, a DataLoader with
a DistributedSampler, and torch.optim.Adam; and the same with sharded data parallelism (FSDP)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import nn


def network(features: int, hidden: list[int]) -> nn.Sequential:
    """Return linear layers with ReLU between them."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise([features, *hidden, 1]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def loop(model: nn.Module, batch: int, X: Any, y: Any) -> tuple[Callable[[], object], Any]:
    """Return one epoch, and the optimiser."""
    from torch.nn.functional import binary_cross_entropy_with_logits
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    dataset = TensorDataset(X, y)
    sampler: Any = DistributedSampler(dataset, shuffle=True, seed=0)
    loader = DataLoader(dataset, batch_size=batch, sampler=sampler)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.001)
    epochs = iter(range(10**9))

    def epoch() -> None:
        sampler.set_epoch(next(epochs))
        for rows, labels in loader:
            optimiser.zero_grad()
            loss = binary_cross_entropy_with_logits(model(rows), labels)
            loss.backward()
            optimiser.step()

    return epoch, optimiser


def count_bytes(model: nn.Module, optimiser: Any) -> dict[str, int]:
    """Return the bytes of this replica's own parts, once there has been a step."""

    def size(tensor: Any) -> int:
        return int((tensor.to_local() if hasattr(tensor, "to_local") else tensor).nbytes)

    states = [value for state in optimiser.state.values() for value in state.values()]
    groups = {"parameters": list(model.parameters()), "optimiser": states}
    return {name: sum(map(size, group)) for name, group in groups.items()}


def ddp(hidden: list[int], batch: int, X: Any, y: Any) -> tuple[Callable[[], object], Any]:
    """Hold the whole network in every replica; batch: rows of a step on each replica."""
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(network(X.shape[1], hidden))
    epoch, optimiser = loop(model, batch, X, y)
    epoch()
    return epoch, count_bytes(model, optimiser)


def fsdp(hidden: list[int], batch: int, X: Any, y: Any) -> tuple[Callable[[], object], Any]:
    """Hold a part of each layer in every replica, and for a moment the whole of that at work."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = network(X.shape[1], hidden)
    mesh = init_device_mesh("cpu", (torch.distributed.get_world_size(),))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    epoch, optimiser = loop(model, batch, X, y)
    epoch()
    return epoch, count_bytes(model, optimiser)
