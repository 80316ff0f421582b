"""What episode 09 says of messages, counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode

from training import shared_layers, train_nn


class AllReduces(TorchDispatchMode):
    """Keeps the shape of each tensor that the replicas add up."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if "allreduce" in str(function):
            (tensor,) = args[0]
            self.shapes.append(tuple(tensor.shape))
        return function(*args, **(kwargs or {}))


@pytest.fixture
def two_replicas() -> Iterator[None]:
    """The first of two replicas, whose messages go nowhere."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize(("layers", "sums"), [(2, 1), (4, 3), (20, 19)])
def test_a_step_adds_up_the_width_for_each_row_and_pair_of_layers(
    two_replicas: None, layers: int, sums: int
) -> None:
    model = shared_layers.share(train_nn.build_model(7, [8] * layers, 0), rank=0, size=2)
    with AllReduces() as seen:
        outputs = model(torch.ones(5, 7))
        train_nn.loss_of_each_row(outputs, torch.ones(5, 1)).mean().backward()
    assert seen.shapes == [(5, 8)] * sums
