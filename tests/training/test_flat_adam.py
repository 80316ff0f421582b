"""training/flat_adam.py takes the steps of torch.optim.Adam, and exchanges its checkpoints."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from testing.examples import with_examples
from training import flat_adam

Shape = tuple[int, ...]
SHAPES: list[Shape] = [(3, 2), (), (4,)]  # () is a single number
KINDS = [flat_adam.Adam, torch.optim.Adam]


def weights_of(shapes: Sequence[Shape]) -> list[nn.Parameter]:
    random = torch.Generator().manual_seed(0)
    return [
        nn.Parameter(torch.randn(shape, generator=random, dtype=torch.float64)) for shape in shapes
    ]


def train(weights: Sequence[nn.Parameter], optimizer: Any, steps: range) -> None:
    """Take steps along random gradients, some of which are 0, as those of an embedding's rows."""
    for step in steps:
        random = torch.Generator().manual_seed(step)
        optimizer.zero_grad(set_to_none=False)
        for weight in weights:
            gradient = torch.randn(weight.shape, generator=random, dtype=weight.dtype)
            gradient *= torch.rand(weight.shape, generator=random) < 0.7
            weight.grad = gradient if weight.grad is None else weight.grad.add_(gradient)
        optimizer.step()


def assert_same(ours: Sequence[Tensor], torchs: Sequence[Tensor]) -> None:
    """In float64: in float32, 200 steps of torch's own kinds of Adam differ by more than 1e-6."""
    for mine, other in zip(ours, torchs, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-9)


# ---- the steps ----------------------------------------------------------------------------------
@with_examples(20)
@given(
    shapes=st.lists(st.lists(st.integers(0, 5), max_size=3).map(tuple), min_size=1, max_size=5),
    settings=st.fixed_dictionaries(
        {},
        optional={
            "lr": st.sampled_from([0.0, 0.01]),
            "betas": st.just((0.8, 0.99)),
            "eps": st.just(1e-6),
            "weight_decay": st.just(0.1),
        },
    ),
)
def test_200_steps_are_those_of_torch_for_weights_of_any_shapes(
    shapes: list[Shape], settings: Any
) -> None:
    ours, torchs = weights_of(shapes), weights_of(shapes)
    train(ours, flat_adam.Adam(ours, **settings), range(200))
    train(torchs, torch.optim.Adam(torchs, **settings), range(200))
    assert_same(ours, torchs)


class Words(nn.Module):
    """A network with an embedding, a layer that is not trained, and a single number."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.frozen = nn.Linear(6, 6).requires_grad_(False)
        self.convolution = nn.Conv1d(6, 4, 3)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.last = nn.Linear(4, 1)

    def forward(self, words: Tensor) -> Tensor:
        features = self.frozen(self.embedding(words)).transpose(1, 2)
        outputs: Tensor = self.last(self.scale * self.convolution(features).mean(dim=2))
        return outputs


@pytest.mark.parametrize("set_to_none", [True, False])
def test_it_trains_a_network_as_torch_does(set_to_none: bool) -> None:
    torch.manual_seed(0)
    models = [Words().double()]
    models.append(copy.deepcopy(models[0]))
    words, y = torch.randint(11, (32, 7)), torch.rand(32, 1, dtype=torch.float64)
    for model, kind in zip(models, KINDS, strict=True):
        optimizer: Any = kind(model.parameters(), lr=0.01)
        for _ in range(200):
            optimizer.zero_grad(set_to_none=set_to_none)
            functional.mse_loss(model(words), y).backward()
            optimizer.step()
    ours, torchs = models
    assert_same(list(ours.parameters()), list(torchs.parameters()))


def test_in_float32_its_steps_are_those_of_torchs_fused_adam() -> None:
    trained = []
    for kind, settings in ((flat_adam.Adam, {}), (torch.optim.Adam, {"fused": True})):
        weights = [nn.Parameter(weight.detach().float()) for weight in weights_of(SHAPES)]
        train(weights, kind(weights, **settings), range(200))
        trained.append(torch.cat([weight.detach().flatten() for weight in weights]))
    torch.testing.assert_close(*trained, rtol=0, atol=1e-6)


def test_the_learning_rate_may_change_between_steps() -> None:
    trained = []
    for kind in KINDS:
        weights = weights_of(SHAPES)
        optimizer: Any = kind(weights, lr=1.0)
        for step, learning_rate in enumerate((1.0, 0.1, 0.01)):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate
            train(weights, optimizer, range(step, step + 1))
        trained.append(weights)
    assert_same(*trained)


# ---- gradients in one tensor --------------------------------------------------------------------
@pytest.mark.parametrize(("order", "left_over"), [((0, 1, 2), 0), ((2, 1, 0), 0), ((0, 1, 2), 3)])
def test_gradients_may_be_parts_of_one_tensor_in_any_order(
    order: Sequence[int], left_over: int
) -> None:
    ours, torchs = weights_of(SHAPES), weights_of(SHAPES)
    whole = ours[0].detach().new_zeros(sum(weight.numel() for weight in ours) + left_over)
    start = 0
    for i in order:
        end = start + ours[i].numel()
        ours[i].grad = whole[start:end].view_as(ours[i])
        start = end
    train(ours, flat_adam.Adam(ours), range(5))
    train(torchs, torch.optim.Adam(torchs), range(5))
    assert_same(ours, torchs)


def test_gradients_may_be_laid_out_column_by_column() -> None:
    ours, torchs = weights_of([(3, 2)]), weights_of([(3, 2)])
    ours[0].grad = torch.zeros(6, dtype=torch.float64).view(2, 3).t()
    train(ours, flat_adam.Adam(ours), range(5))
    train(torchs, torch.optim.Adam(torchs), range(5))
    assert_same(ours, torchs)


def test_parts_of_one_tensor_are_not_copied() -> None:
    whole = torch.arange(10.0)
    parts = [whole[:6].view(2, 3), whole[6].view(()), whole[7:]]
    assert flat_adam.join(parts) is whole
    assert torch.equal(flat_adam.join(parts[:2]), whole[:7])
    assert torch.equal(flat_adam.join([part.clone() for part in parts]), whole)


def test_a_missing_gradient_is_refused() -> None:
    weights = weights_of(SHAPES)
    optimizer = flat_adam.Adam(weights)
    train(weights, optimizer, range(1))
    optimizer.zero_grad()
    with pytest.raises(RuntimeError, match="a weight has no gradient"):
        optimizer.step()


# ---- checkpoints --------------------------------------------------------------------------------
@pytest.mark.parametrize("through_a_file", [True, False])
@pytest.mark.parametrize("after", [0, 7])
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_each_resumes_from_the_checkpoint_of_the_other(
    first: Any, second: Any, after: int, through_a_file: bool
) -> None:
    weights, unbroken = weights_of(SHAPES), weights_of(SHAPES)
    train(unbroken, torch.optim.Adam(unbroken, lr=0.01), range(after + 20))

    optimizer = first(weights, lr=0.01)
    train(weights, optimizer, range(after))
    state = optimizer.state_dict()
    if through_a_file:
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        state = torch.load(file, weights_only=True)
    resumed = [nn.Parameter(weight.detach().clone()) for weight in weights]
    optimizer = second(resumed, lr=0.5)
    train(resumed, optimizer, range(0))
    optimizer.load_state_dict(state)
    train(resumed, optimizer, range(after, after + 20))
    assert_same(resumed, unbroken)


def test_the_state_has_the_form_of_torchs() -> None:
    states = []
    for kind in KINDS:
        model = Words()
        optimizer: Any = kind(model.parameters(), lr=0.01)
        model(torch.zeros(1, 7, dtype=torch.int64)).sum().backward()
        optimizer.step()
        states.append(optimizer.state_dict())
    ours, torchs = states
    assert ours["state"].keys() == torchs["state"].keys()  # none of a weight that is not trained
    for i, moments in torchs["state"].items():
        for name, value in moments.items():
            assert ours["state"][i][name].shape == value.shape
            assert ours["state"][i][name].dtype == value.dtype
    (settings,) = ours["param_groups"]
    for name, value in settings.items():
        assert name == "fused" or torchs["param_groups"][0][name] == value


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    weights = weights_of(SHAPES)
    optimizer = flat_adam.Adam(weights)
    train(weights, optimizer, range(3))
    before = copy.deepcopy(optimizer.state_dict())

    others: Any = flat_adam.Adam(weights_of([(2, 3), (), (4,)])).state_dict()
    fewer: Any = flat_adam.Adam(weights_of(SHAPES[:2])).state_dict()
    uneven = copy.deepcopy(before)
    uneven["state"][1]["step"] += 1
    amsgrad: Any = torch.optim.Adam(weights_of(SHAPES), amsgrad=True).state_dict()
    for state, reason in (
        (others, "other weights"),
        (fewer, "other weights"),
        (uneven, "more steps than others"),
        (amsgrad, "with amsgrad"),
    ):
        with pytest.raises(ValueError, match=reason):
            optimizer.load_state_dict(state)
    torch.testing.assert_close(optimizer.state_dict(), before, rtol=0, atol=0)


# ---- what it is made for ------------------------------------------------------------------------
@pytest.mark.parametrize(
    "weights",
    [
        [],
        [nn.Parameter(torch.zeros(2), requires_grad=False)],
        [nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2, dtype=torch.float64))],
    ],
)
def test_weights_that_do_not_fit_in_one_tensor_are_refused(weights: list[nn.Parameter]) -> None:
    with pytest.raises(ValueError, match="all of one type and on one device"):
        flat_adam.Adam(weights)


def test_what_it_does_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match="amsgrad"):
        flat_adam.Adam(weights_of(SHAPES), amsgrad=True)  # type: ignore[call-arg]


def test_it_does_not_import_the_compiler() -> None:
    code = """
import sys, torch
import flat_adam
weight = torch.nn.Parameter(torch.ones(3))
optimizer = flat_adam.Adam([weight])
weight.sum().backward()
optimizer.step()
optimizer.load_state_dict(optimizer.state_dict())
optimizer.zero_grad()
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(flat_adam.__file__).parent)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "False\n"
