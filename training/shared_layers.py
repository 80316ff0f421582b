"""Layers that all replicas share, so that they train a network which is too large for one of them.

Linear layers are shared in pairs. Of the first, each replica has some columns of outputs; of the
second, the weights for these columns. The replicas add up the outputs of the second, and all of
them continue with the whole sum. Every replica has all rows, and its gradients are those of its own
weights: there is nothing to add up before the optimizer's step. This is the scheme of Megatron-LM
(https://arxiv.org/abs/1909.08053, section 3).

Dropout needs the same random numbers on all replicas: give all of them the same seed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional

# These compute each column by itself, so they work between two shared layers as they are.
COLUMN_BY_COLUMN = (
    nn.ELU,
    nn.GELU,
    nn.Hardtanh,
    nn.Identity,
    nn.LeakyReLU,
    nn.ReLU,
    nn.Sigmoid,
    nn.SiLU,
    nn.Softplus,
    nn.Tanh,
)
Layer = tuple[int, nn.Linear]  # and its place in the network


def share(model: nn.Module, rank: int, size: int) -> nn.Module:
    """Replace the layers of a network by this replica's parts of them, and return it.

    All replicas must begin with the same weights. A last layer without a partner stays whole.
    ValueError if the network cannot be shared; then nothing has been replaced.
    """
    if type(model) is not nn.Sequential:
        raise ValueError(
            "--parallelism model: replicas can share the layers of nn.Sequential, not those of "
            f"{type(model).__name__}; return nn.Sequential, or choose --parallelism data"
        )
    pairs = find_pairs(model)
    for (start, first), (end, _) in pairs:  # all of them before the first is replaced
        require_columns(first, list(model)[start + 1 : end], size)
    for (start, first), (end, second) in pairs:
        model[start] = ColumnLinear(first, rank, size)
        for place in range(start + 1, end):
            layer = model[place]
            if isinstance(layer, nn.Dropout):
                model[place] = ColumnDropout(layer.p, rank, size)
        model[end] = RowLinear(second, rank, size)
    return model


def find_pairs(model: nn.Sequential) -> list[tuple[Layer, Layer]]:
    """Return the linear layers that are shared, with their places in the network."""
    linear = [(place, layer) for place, layer in enumerate(model) if isinstance(layer, nn.Linear)]
    if len(linear) < 2:
        raise ValueError(
            "--parallelism model: replicas share pairs of Linear layers, and this network has "
            "none; add a layer, or choose --parallelism data"
        )
    return list(zip(linear[::2], linear[1::2], strict=False))  # a last one may have no partner


def require_columns(first: nn.Linear, between: Sequence[nn.Module], size: int) -> None:
    """Refuse columns that the replicas cannot divide, or that do not stay columns."""
    width = first.out_features
    if width % size != 0:
        raise ValueError(
            f"--parallelism model: {size} replicas cannot share [{width}] columns evenly; "
            f"choose widths in --hidden that {size} divides"
        )
    for layer in between:
        if not isinstance(layer, (*COLUMN_BY_COLUMN, nn.Dropout)):
            raise ValueError(
                f"--parallelism model: replicas cannot share the columns of {type(layer).__name__} "
                "between two Linear layers; remove it, or choose --parallelism data"
            )


# ---- Layers --------------------------------------------------------------------------------------
class ColumnLinear(nn.Module):
    """Some outputs of a linear layer, of all inputs."""

    def __init__(self, whole: nn.Linear, rank: int, size: int) -> None:
        """Take a part of a whole layer."""
        super().__init__()
        self.weight = take_part(whole.weight, 0, rank=rank, size=size)  # (own outputs, inputs)
        self.bias = None if whole.bias is None else take_part(whole.bias, 0, rank=rank, size=size)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the own outputs, (rows, own outputs)."""
        same: Tensor = CopyToAll.apply(inputs)  # type: ignore[no-untyped-call]
        return functional.linear(same, self.weight, self.bias)


class RowLinear(nn.Module):
    """All outputs of a linear layer, of which each replica has some inputs."""

    def __init__(self, whole: nn.Linear, rank: int, size: int) -> None:
        """Take a part of a whole layer."""
        super().__init__()
        self.weight = take_part(whole.weight, 1, rank=rank, size=size)  # (outputs, own inputs)
        self.bias = whole.bias  # (outputs,), the same on all replicas

    def forward(self, own_inputs: Tensor) -> Tensor:
        """Return all outputs, (rows, outputs)."""
        own_share = functional.linear(own_inputs, self.weight)
        outputs: Tensor = SumOfAll.apply(own_share)  # type: ignore[no-untyped-call]
        if self.bias is None:
            return outputs
        return outputs + self.bias  # once, after the sum


class ColumnDropout(nn.Module):
    """Dropout of the own columns.

    Each replica draws the random numbers of all columns and uses its own, so that the network is
    trained as one replica alone would train it.
    """

    def __init__(self, p: float, rank: int, size: int) -> None:
        """Set the probability that a value becomes 0."""
        super().__init__()
        self.p, self.rank, self.size = p, rank, size

    def forward(self, own_inputs: Tensor) -> Tensor:
        """Return the own inputs, (rows, own columns); in training, some of them are 0."""
        if not self.training:
            return own_inputs
        *rows, own_columns = own_inputs.shape
        factors = functional.dropout(own_inputs.new_ones(*rows, own_columns * self.size), self.p)
        return own_inputs * factors.chunk(self.size, -1)[self.rank]


def take_part(whole: Tensor, dimension: int, *, rank: int, size: int) -> nn.Parameter:
    """Return a replica's part of a layer's weights, in memory of its own."""
    part = whole.detach().chunk(size, dimension)[rank].clone()
    return nn.Parameter(part, requires_grad=whole.requires_grad)


# ---- Messages between the replicas ---------------------------------------------------------------
class CopyToAll(torch.autograd.Function):
    """Give all replicas' columns the same inputs."""

    @staticmethod
    def forward(ctx: FunctionCtx, inputs: Tensor) -> Tensor:
        """Return the inputs, which are the same on all replicas."""
        return inputs.view_as(inputs)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> Tensor:
        """Return the sum of the gradients: each replica has what its own columns give."""
        return add_up(gradient)


class SumOfAll(torch.autograd.Function):
    """Add up what the replicas have of the outputs."""

    @staticmethod
    def forward(ctx: FunctionCtx, own_share: Tensor) -> Tensor:
        """Return the sum."""
        return add_up(own_share)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> Tensor:
        """Return the gradient, which is the same for each term of the sum."""
        return gradient


def add_up(own: Tensor) -> Tensor:
    """Return the sum of the replicas' tensors, which has the same bits on all of them."""
    total = copy_to_send(own)
    dist.all_reduce(total)
    return total.to(own.device)


def copy_to_send(own: Tensor) -> Tensor:
    """Return a copy of a tensor where NCCL, or gloo, can send it."""
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    return own.detach().to(device, copy=True, memory_format=torch.contiguous_format)


# ---- Checkpoints, which hold whole layers --------------------------------------------------------
def whole(model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors by the names of the model's parameters as the whole network has them.

    For a state_dict(), for example; what is not shared stays. All replicas must call this, with
    the same names in the same order, and each gets copies of whole tensors, in the CPU's memory.
    """
    shared = find_shared(model)
    tensors_whole = {}
    for name, own in tensors.items():
        if name in shared:
            sent = copy_to_send(own)
            parts = [torch.empty_like(sent) for _ in range(dist.get_world_size())]
            dist.all_gather(parts, sent)
            tensors_whole[name] = torch.cat(parts, shared[name]).cpu()
        else:
            tensors_whole[name] = own.detach().to("cpu", copy=True)
    return tensors_whole


def part(model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return this replica's parts of whole tensors, by the names of the model's parameters."""
    shared = find_shared(model)
    rank, size = dist.get_rank(), dist.get_world_size()
    parts_here = {}
    for name, tensor in tensors.items():
        if name in shared:
            parts_here[name] = tensor.chunk(size, shared[name])[rank].clone()
        else:
            parts_here[name] = tensor
    return parts_here


def whole_optimizer(model: nn.Module, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state_dict() of an optimizer of the model as the whole network would have it.

    The optimizer must have all parameters that require gradients, in the model's order. All
    replicas must call this.
    """
    return convert_optimizer(model, state, whole)


def part_optimizer(model: nn.Module, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return this replica's part of what whole_optimizer() returned."""
    return convert_optimizer(model, state, part)


Convert = Callable[[nn.Module, Mapping[str, Tensor]], dict[str, Tensor]]


def convert_optimizer(
    model: nn.Module, state: Mapping[str, Any], convert: Convert
) -> dict[str, Any]:
    """Return an optimizer's state with each parameter's tensors converted as the parameter is."""
    names = [name for name, weight in model.named_parameters() if weight.requires_grad]
    converted: dict[int, dict[str, object]] = {}
    for place, values in state["state"].items():
        name = names[place]
        converted[place] = dict(values)
        for kind, value in values.items():
            if isinstance(value, Tensor) and value.dim() > 0:  # not a number of steps
                converted[place][kind] = convert(model, {name: value})[name]
    return {**state, "state": converted}


def find_shared(model: nn.Module) -> dict[str, int]:
    """Return the names of the parameters that are shared, and the dimension that is divided."""
    dimensions = {}
    for name, layer in model.named_modules():
        if isinstance(layer, ColumnLinear):
            dimensions[f"{name}.weight"] = 0
            dimensions[f"{name}.bias"] = 0
        elif isinstance(layer, RowLinear):
            dimensions[f"{name}.weight"] = 1
    return dimensions
