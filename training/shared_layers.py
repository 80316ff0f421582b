"""Layers that all replicas share, so that together they train a network that one cannot hold."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn import Linear, Module, Parameter, ParameterList, ReLU, Sequential

story: Any  # train_nn.py, which loads this file


def build_model(features: int, hidden: Sequence[int], seed: int, device: Any) -> Sequential:
    """Return the story's model, of which each replica holds a part, as DTensors.

    Layers come in pairs: of the first, a replica has some columns, whose outputs are its own; of
    the second the rows that take these, and all replicas add up its outputs. A last layer without
    a partner, of one column, is whole on each replica.
    """
    size = dist.get_world_size()
    odd = [width for width in hidden[::2] if width % size]
    story.require(
        not odd,
        f"--parallelism model: {size} replicas cannot share {odd[:1]} columns evenly; "
        f"choose widths in --hidden that {size} divides",
    )
    mesh = init_device_mesh(torch.device(device).type, (size,))
    layers: list[Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # on the CPU, as the story does: the weights are the same
        for number, widths in enumerate(itertools.pairwise([features, *hidden, 1])):
            layer = Linear(*widths).to(device)
            if number < len(hidden) or number % 2:  # the whole layer lives until here, no longer
                style = RowwiseParallel() if number % 2 else ColwiseParallel()
                parallelize_module(layer, mesh, style)
            layers += [layer, ReLU()]
    return Sequential(*layers[:-1])


class Adam:
    """The story's optimizer, over this replica's parts of the parameters."""

    def __init__(self, model: Module, learning_rate: float) -> None:
        """Make the parts views of one flat tensor."""
        shared = list(model.named_parameters())
        own = ParameterList(getattr(each, "to_local", each.detach)().detach() for _, each in shared)
        self.own, self.gradients = story.Adam(own, learning_rate), []
        self.weights, self.message, self.state = self.own.weights, self.own.message, self.own.state
        for (name, each), part in zip(shared, own, strict=True):
            place, _, kind = name.rpartition(".")
            parameter = viewed(each, part)
            model.get_submodule(place).register_parameter(kind, parameter)
            if parameter is not part:
                self.gradients.append((parameter, part.grad))

    def step(self) -> None:
        """Move the weights by one step; the gradients are whole: layers meet in each step."""
        for parameter, gradient in self.gradients:  # a DTensor is slow to add to
            whole, parameter.grad = parameter.grad, None
            gradient.copy_(whole.redistribute(placements=parameter.placements).to_local())
        self.own.step()


def viewed(whole: Any, part: Parameter) -> Any:
    """Return a parameter like `whole` that keeps its numbers where `part` does."""
    if not hasattr(whole, "from_local"):
        return part
    numbers = part.detach()
    return Parameter(
        whole.from_local(numbers, whole.device_mesh, whole.placements, run_check=False)
    )
