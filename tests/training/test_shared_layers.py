"""training/shared_layers.py: replicas that share layers train the network of one replica."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

from tests.training import pool as processes
from tests.training.pool import Pool
from training import shared_layers

SIZES = (2, 3)


# ---- networks -----------------------------------------------------------------------------------
def two_layers() -> nn.Sequential:
    return nn.Sequential(nn.Linear(7, 12), nn.ReLU(), nn.Linear(12, 1))


def three_layers() -> nn.Sequential:
    """The last layer has no partner."""
    return nn.Sequential(nn.Linear(7, 12), nn.ReLU(), nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 1))


def four_layers() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(7, 6),
        nn.Tanh(),
        nn.Linear(6, 5),
        nn.ReLU(inplace=True),
        nn.Linear(5, 12),
        nn.GELU(),
        nn.Linear(12, 1),
    )


def without_biases() -> nn.Sequential:
    model = nn.Sequential(
        nn.Linear(7, 6, bias=False),
        nn.ReLU(),
        nn.Linear(6, 6, bias=False),
        nn.ReLU(),
        nn.Linear(6, 6),
        nn.Linear(6, 1),
    )
    model[2].requires_grad_(False)
    return model


def with_dropout_and_batch_normalisation() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(7, 12),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(12, 6),
        nn.BatchNorm1d(6),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(6, 1),
    )


NETWORKS = [
    two_layers,
    three_layers,
    four_layers,
    without_biases,
    with_dropout_and_batch_normalisation,
]
Build = Callable[[], nn.Sequential]


def build(network: Build) -> nn.Sequential:
    """The same weights in every process; float64, so that only the order of sums is rounded."""
    torch.manual_seed(0)
    return network().double()


def table() -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(1)
    X = torch.randn(40, 7, generator=random, dtype=torch.float64)
    return X, (X[:, :1] > 0).double()


def optimizer_of(model: nn.Module) -> torch.optim.Adam:
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return torch.optim.Adam(weights, 0.01)


def train(model: nn.Module, optimizer: Any, steps: range) -> None:
    """A loop that does not know whether layers are shared."""
    X, y = table()
    model.train()
    for step in steps:
        torch.manual_seed(step)  # for dropout
        optimizer.zero_grad()
        functional.binary_cross_entropy_with_logits(model(X), y).backward()
        optimizer.step()


def outputs_of(model: nn.Module) -> Tensor:
    model.eval()
    with torch.no_grad():
        outputs: Tensor = model(table()[0])
    return outputs


# ---- replicas -----------------------------------------------------------------------------------
Work = Callable[..., dict[str, Any]]


def meet(rank: int, size: int, work: Work, *arguments: Any) -> bytes:
    """Do some work as one of several replicas; what it returns, saved."""
    dist.init_process_group("gloo", init_method=processes.meeting_url, rank=rank, world_size=size)
    torch.save(work(rank, size, *arguments), saved := io.BytesIO())
    dist.barrier()  # no replica leaves another that still has something to send
    dist.destroy_process_group()
    return saved.getvalue()


def as_replicas(pool: Pool, size: int, work: Work, *arguments: Any) -> list[dict[str, Any]]:
    """What some work returns in each of several processes, by rank."""
    done = pool.run(size, meet, work, *arguments)
    return [torch.load(io.BytesIO(each), weights_only=True) for each in done]


# ---- the same network ---------------------------------------------------------------------------
def train_shared(rank: int, size: int, networks: list[Build]) -> dict[str, Any]:
    weights = {}
    for network in networks:
        model = shared_layers.share(build(network), rank, size)
        before = outputs_of(model)
        optimizer = optimizer_of(model)
        train(model, optimizer, range(20))
        weights[network.__name__] = {
            "before": before,
            "after": outputs_of(model),
            "weights": shared_layers.whole(model, model.state_dict()),
            "optimizer": shared_layers.whole_optimizer(model, optimizer.state_dict()),
        }
    return weights


@pytest.mark.parametrize("size", SIZES)
def test_replicas_that_share_layers_train_the_network_of_one(pool: Pool, size: int) -> None:
    weights = as_replicas(pool, size, train_shared, NETWORKS)
    for network in NETWORKS:
        model = build(network)
        before = outputs_of(model)
        optimizer = optimizer_of(model)
        train(model, optimizer, range(20))
        expected = {
            "before": before,
            "after": outputs_of(model),
            "weights": dict(model.state_dict()),
            "optimizer": optimizer.state_dict(),
        }
        del expected["optimizer"]["param_groups"]
        for each in weights:
            shared = each[network.__name__]
            del shared["optimizer"]["param_groups"]
            torch.testing.assert_close(shared, expected, rtol=0, atol=1e-9)
            # What is not shared must not drift apart: it has the same bits.
            first = weights[0][network.__name__]["weights"]
            torch.testing.assert_close(shared["weights"], first, rtol=0, atol=0)


def train_in_float32(rank: int, size: int) -> dict[str, Any]:
    model: nn.Module = build(three_layers).float()
    if size > 1:
        model = shared_layers.share(model, rank, size)
    optimizer = torch.optim.Adam(model.parameters())
    X, y = (tensor.float() for tensor in table())
    for _ in range(20):
        optimizer.zero_grad()
        functional.binary_cross_entropy_with_logits(model(X), y).backward()
        optimizer.step()
    return shared_layers.whole(model, model.state_dict())


def test_in_float32_torchs_own_optimizer_trains_the_network_of_one_too(pool: Pool) -> None:
    expected = train_in_float32(0, 1)
    for weights in as_replicas(pool, 2, train_in_float32):
        torch.testing.assert_close(weights, expected, rtol=0, atol=1e-6)


def wide() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(7, 60),
        nn.ReLU(),
        nn.Linear(60, 60),
        nn.ReLU(),
        nn.Linear(60, 60),
        nn.ReLU(),
        nn.Linear(60, 1),
    )


@pytest.mark.parametrize("size", SIZES)
def test_each_replica_holds_its_part_only(size: int) -> None:
    whole = sum(weight.numel() for weight in build(wide).parameters())
    for rank in range(size):
        model = shared_layers.share(build(wide), rank, size)
        own = sum(weight.untyped_storage().nbytes() // 8 for weight in model.parameters())
        assert own <= whole / size + 61  # the biases of the second and of the fourth layer


# ---- checkpoints --------------------------------------------------------------------------------
def save_checkpoint(rank: int, size: int, network: Build) -> dict[str, Any]:
    """Train a while; what was saved must give each replica its own parts again."""
    model = shared_layers.share(build(network), rank, size)
    optimizer = optimizer_of(model)
    train(model, optimizer, range(10))
    saved = {
        "model": shared_layers.whole(model, model.state_dict()),
        "optimizer": shared_layers.whole_optimizer(model, optimizer.state_dict()),
    }
    own = {
        "model": shared_layers.part(model, saved["model"]),
        "optimizer": shared_layers.part_optimizer(model, saved["optimizer"]),
    }
    assert own["model"].keys() == model.state_dict().keys()
    torch.testing.assert_close(own["model"], dict(model.state_dict()), rtol=0, atol=0)
    torch.testing.assert_close(own["optimizer"], optimizer.state_dict(), rtol=0, atol=0)
    return saved


def resume(rank: int, size: int, network: Build, saved: dict[str, Any]) -> dict[str, Any]:
    saved = copy.deepcopy(saved)  # otherwise all processes would change the same memory
    model = shared_layers.share(build(network), rank, size)
    optimizer = optimizer_of(model)
    model.load_state_dict(shared_layers.part(model, saved["model"]))
    optimizer.load_state_dict(shared_layers.part_optimizer(model, saved["optimizer"]))
    train(model, optimizer, range(10, 20))
    return shared_layers.whole(model, model.state_dict())


@pytest.mark.parametrize("network", [without_biases, with_dropout_and_batch_normalisation])
def test_a_checkpoint_is_that_of_one_replica_and_any_number_resumes_from_it(
    pool: Pool, network: Build
) -> None:
    unbroken = build(network)
    train(unbroken, optimizer_of(unbroken), range(20))
    expected = dict(unbroken.state_dict())

    saved = as_replicas(pool, 2, save_checkpoint, network)[0]
    for weights in as_replicas(pool, 3, resume, network, saved):
        torch.testing.assert_close(weights, expected, rtol=0, atol=1e-9)

    alone = build(network)
    alone.load_state_dict(saved["model"])
    optimizer = torch.optim.Adam([each for each in alone.parameters() if each.requires_grad])
    optimizer.load_state_dict(saved["optimizer"])
    train(alone, optimizer, range(10, 20))
    torch.testing.assert_close(dict(alone.state_dict()), expected, rtol=0, atol=1e-9)


# ---- what cannot be shared ----------------------------------------------------------------------
class Own(nn.Module):
    """A network of somebody's own."""


@pytest.mark.parametrize(
    ("model", "size", "reason"),
    [
        (
            nn.Sequential(nn.Linear(7, 12), nn.ReLU(), nn.Linear(12, 1)),
            5,
            "5 replicas cannot share [12] columns evenly; choose widths in --hidden that 5 divides",
        ),
        (
            nn.Sequential(*(nn.Linear(4, 4) for _ in range(2)), nn.Linear(4, 6), nn.Linear(6, 1)),
            4,
            "4 replicas cannot share [6] columns evenly; choose widths in --hidden that 4 divides",
        ),
        (
            nn.Sequential(nn.Linear(7, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)),
            2,
            "replicas cannot share the columns of BatchNorm1d between two Linear layers; "
            "remove it, or choose --parallelism data",
        ),
        (
            nn.Sequential(nn.Linear(7, 4), nn.Softmax(dim=1), nn.Linear(4, 1)),
            2,
            "replicas cannot share the columns of Softmax between two Linear layers; "
            "remove it, or choose --parallelism data",
        ),
        (
            Own(),
            2,
            "replicas can share the layers of nn.Sequential, not those of Own; "
            "return nn.Sequential, or choose --parallelism data",
        ),
        (
            nn.Sequential(nn.Linear(7, 1)),
            2,
            "replicas share pairs of Linear layers, and this network has none; "
            "add a layer, or choose --parallelism data",
        ),
    ],
)
def test_a_network_that_cannot_be_shared_is_refused_and_stays_as_it_is(
    model: nn.Module, size: int, reason: str
) -> None:
    before = str(model)
    with pytest.raises(ValueError) as refusal:
        shared_layers.share(model, 0, size)
    assert str(refusal.value) == f"--parallelism model: {reason}"
    assert str(model) == before
