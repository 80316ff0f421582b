"""Adam over one tensor: the steps and the checkpoints of torch.optim.Adam, in less time.

All weights are parts of one tensor, and so are the moments of their gradients: a step is one call
for all of them. The class does not inherit from torch.optim.Optimizer: making the first object of
that class imports torch's compiler, which takes a second. Whatever requires an Optimizer, as the
schedulers of torch.optim.lr_scheduler do, needs torch.optim.Adam instead of this one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam


class Adam:
    """Move weights along their gradients, as torch.optim.Adam does."""

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        """Make the weights parts of one tensor; those that need no gradient stay as they are.

        The weights must be on their device before this. ValueError unless they are of one type and
        on one device.
        """
        params = list(params)
        self.weights = {i: weight for i, weight in enumerate(params) if weight.requires_grad}
        kinds = {(weight.dtype, weight.device) for weight in self.weights.values()}
        if len(kinds) != 1:
            raise ValueError("give weights to train, all of one type and on one device")
        self.flat = torch.cat([weight.detach().reshape(-1) for weight in self.weights.values()])
        for i, part in self.split(self.flat).items():
            self.weights[i].data = part
        self.mean = torch.zeros_like(self.flat)  # of the gradients so far
        self.square = torch.zeros_like(self.flat)  # of the gradients' squares
        device = self.flat.device.type
        fused = device in ("cpu", "cuda")
        capturable = device == "xla"  # the number of steps in a tensor: else each one is compiled
        where = self.flat.device if fused or capturable else "cpu"
        self.steps = torch.zeros((), device=where, dtype=torch.float32)
        settings: dict[str, Any] = {
            "params": params,
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "fused": fused,
            "capturable": capturable,
        }
        self.param_groups = [settings]

    def split(self, flat: Tensor) -> dict[int, Tensor]:
        """Return the parts of a flat tensor that belong to the weights, in their shapes."""
        sizes = [weight.numel() for weight in self.weights.values()]
        parts = zip(self.weights.items(), torch.split(flat, sizes), strict=True)
        return {i: part.view_as(weight) for (i, weight), part in parts}

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or set them to zero in their place."""
        for weight in self.weights.values():
            if set_to_none:
                weight.grad = None
            elif weight.grad is not None:
                weight.grad.zero_()

    def step(self) -> None:
        """Move the weights by one step; RuntimeError if one of them has no gradient."""
        gradients = []
        for weight in self.weights.values():
            gradient = weight.grad
            if gradient is None:
                raise RuntimeError("a weight has no gradient; call backward() before step()")
            gradients.append(gradient)
        settings = self.param_groups[0]
        beta1, beta2 = settings["betas"]
        adam(
            [self.flat],
            [join(gradients)],
            [self.mean],
            [self.square],
            [],
            [self.steps],
            fused=settings["fused"],
            capturable=settings["capturable"],
            amsgrad=False,
            beta1=beta1,
            beta2=beta2,
            lr=settings["lr"],
            weight_decay=settings["weight_decay"],
            eps=settings["eps"],
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the moments of each weight and the settings, as torch.optim.Adam does."""
        means, squares = self.split(self.mean), self.split(self.square)
        state = {}
        for i in self.weights:  # torch.optim.Adam counts the steps of each weight
            step = self.steps.clone()
            state[i] = {"step": step, "exp_avg": means[i], "exp_avg_sq": squares[i]}
        settings = self.param_groups[0]
        numbers = list(range(len(settings["params"])))
        return {"state": state, "param_groups": [{**settings, "params": numbers}]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take what state_dict() returned, of this class or of torch.optim.Adam.

        ValueError if it is of other weights, or of a kind of Adam that this one is not.
        """
        state, settings = state_dict["state"], state_dict["param_groups"][0]
        shapes = {i: moments["exp_avg"].shape for i, moments in state.items()}
        is_new = not state  # torch.optim.Adam has no moments before its first step
        if not is_new and shapes != {i: weight.shape for i, weight in self.weights.items()}:
            raise ValueError("this state belongs to other weights")
        for kind in ("amsgrad", "maximize", "decoupled_weight_decay"):
            if settings.get(kind):
                raise ValueError(f"this state belongs to an Adam with {kind}")
        steps = {float(moments["step"]) for moments in state.values()} or {0.0}
        if len(steps) > 1:
            raise ValueError("in this state, some weights have taken more steps than others")
        self.steps.fill_(steps.pop())
        self.mean.zero_()
        self.square.zero_()
        means, squares = self.split(self.mean), self.split(self.square)
        for i, moments in state.items():
            means[i].copy_(moments["exp_avg"])
            squares[i].copy_(moments["exp_avg_sq"])
        for name in ("lr", "betas", "eps", "weight_decay"):
            self.param_groups[0][name] = settings[name]


def join(parts: Sequence[Tensor]) -> Tensor:
    """Return tensors as one flat tensor: the one that they are the parts of, or a copy."""
    whole = parts[0]._base  # None unless it is a view of another tensor
    if whole is not None and are_all_of(whole, parts):
        return whole
    return torch.cat([part.reshape(-1) for part in parts])


def are_all_of(whole: Tensor, parts: Sequence[Tensor]) -> bool:
    """Return whether these tensors, one after the other, are all of a flat tensor."""
    start = 0
    for part in parts:
        if part._base is not whole or part.storage_offset() != start or not part.is_contiguous():
            return False
        start += part.numel()
    return whole.shape == (start,)
