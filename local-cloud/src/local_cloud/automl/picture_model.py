"""A small convolutional network for pictures: trained, kept in a folder, and explained.

The folder has weights.pt and model.json. Reading them runs no code.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from local_cloud.automl import shapley
from local_cloud.automl.pictures import SIZE

WEIGHTS, ABOUT = "weights.pt", "model.json"
GRID = 8  # regions of a side, to which attributions belong
EPOCHS, PATIENCE = 200, 10
BATCH = 16
ENOUGH = 1e-3  # a loss that falls by less has not fallen
RATE, MOMENTUM, DECAY = 0.03, 0.9, 1e-4
AT_ONCE = 256  # pictures


@dataclass(frozen=True)
class PictureModel:
    """What predicts: of one label the probabilities sum to 1, of several each is its own."""

    network: nn.Module
    classes: tuple[str, ...]
    multi_label: bool

    def predict(self, pictures: np.ndarray) -> np.ndarray:
        """Return probabilities, (pictures, classes); pictures: (n, SIZE, SIZE, 3) from 0 to 1."""
        batches = []
        self.network.eval()
        with torch.no_grad():
            for start in range(0, len(pictures), AT_ONCE):
                outputs = self.network(_tensor(pictures[start : start + AT_ONCE])).double()
                batches.append(outputs.sigmoid() if self.multi_label else outputs.softmax(1))
        return np.asarray(torch.cat(batches).numpy())

    def explain(self, picture: np.ndarray, count: int) -> tuple[np.ndarray, float, float, int]:
        """Return a (GRID, GRID) map of attributions, two predictions, and the class's place.

        The class is the most probable one. The predictions are those of a black picture and of this
        one; the map sums to their difference. count: paths of the sampled Shapley values.
        """
        side = SIZE // GRID
        regions = [(row, column) for row in range(GRID) for column in range(GRID)]
        parts = {
            (row, column): np.s_[row * side : (row + 1) * side, column * side : (column + 1) * side]
            for row, column in regions
        }
        lit = [region for region in regions if picture[parts[region]].any()]
        paths = shapley.paths(lit, count)
        steps = []
        for path in paths:
            shown = np.zeros_like(picture)
            steps.append(shown.copy())
            for region in path:
                shown[parts[region]] = picture[parts[region]]
                steps.append(shown.copy())
        predictions = self.predict(np.stack(steps))
        place = int(predictions[-1].argmax())
        values = predictions[:, place].tolist()
        means = shapley.means(shapley.changes(paths, values), regions)
        attributions = np.array([means[region] for region in regions]).reshape(GRID, GRID)
        return attributions, values[0], values[-1], place

    def save(self, folder: Path) -> None:
        """Write the model's files."""
        folder.mkdir(parents=True, exist_ok=True)
        torch.save(self.network.state_dict(), folder / WEIGHTS)
        about = {"classes": self.classes, "multiLabel": self.multi_label}
        (folder / ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> PictureModel:
        """Read the model's files."""
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        network = layers(len(about["classes"]))
        network.load_state_dict(torch.load(folder / WEIGHTS, weights_only=True))
        return cls(network, tuple(about["classes"]), about["multiLabel"])


def layers(classes: int) -> nn.Module:
    """Return an untrained network."""

    def block(before: int, after: int) -> list[nn.Module]:
        convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
        return [convolution, nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]

    widths = (3, 12, 24, 48)
    parts = [part for pair in pairwise(widths) for part in block(*pair)]
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * 48, classes))


def train(
    classes: Sequence[str],
    training: tuple[np.ndarray, np.ndarray],
    validation: tuple[np.ndarray, np.ndarray],
    *,
    multi_label: bool,
    seconds: float,
    patience: int | None = PATIENCE,
    seed: int = 0,
    tell: Callable[[int, float], None] = lambda *_: None,
) -> PictureModel:
    """Train until the loss of the validation pictures falls no more, or the time is over.

    Both parts are pictures with a row of zeros and ones for each. tell: is called with each epoch
    and its loss. The model is that of the epoch with the smallest one.
    """
    torch.manual_seed(seed)
    chance = np.random.default_rng(seed)
    network = layers(len(classes))
    descent = _Descent(network)
    loss_of = (
        functional.binary_cross_entropy_with_logits if multi_label else functional.cross_entropy
    )
    end, best, kept, since = time.monotonic() + seconds, float("inf"), network.state_dict(), 0
    for epoch in range(1, EPOCHS + 1):
        network.train()
        for places in np.array_split(
            chance.permutation(len(training[0])), -(-len(training[0]) // BATCH)
        ):
            pictures = shift(_tensor(training[0][places]), chance)
            loss = loss_of(network(pictures), torch.from_numpy(training[1][places]).float())
            torch.autograd.backward(loss)
            descent.step()
        network.eval()
        with torch.no_grad():
            wanted = torch.from_numpy(validation[1]).float()
            now = float(loss_of(network(_tensor(validation[0])), wanted))
        tell(epoch, now)
        since += 1
        if now < best - ENOUGH:
            best, since = now, 0
            kept = {name: value.clone() for name, value in network.state_dict().items()}
        if time.monotonic() >= end or (patience is not None and since >= patience):
            break
    network.load_state_dict(kept)
    return PictureModel(network, tuple(classes), multi_label)


class _Descent:
    """Gradient descent with momentum; importing torch.optim takes longer than this training."""

    def __init__(self, network: nn.Module) -> None:
        self._moved = [(each, torch.zeros_like(each)) for each in network.parameters()]

    def step(self) -> None:
        """Change the parameters by their gradients, which are then gone."""
        with torch.no_grad():
            for parameter, speed in self._moved:
                assert parameter.grad is not None
                speed.mul_(MOMENTUM).add_(parameter.grad).add_(parameter, alpha=DECAY)
                parameter.sub_(speed, alpha=RATE)
                parameter.grad = None


def shift(pictures: torch.Tensor, chance: np.random.Generator) -> torch.Tensor:
    """Move all pictures of a batch by up to two pixels, so that places matter less."""
    right, down = (int(each) for each in chance.integers(-2, 3, 2))
    padded = functional.pad(pictures, (2, 2, 2, 2), mode="replicate")
    return padded[:, :, 2 + down : 2 + down + SIZE, 2 + right : 2 + right + SIZE]


def _tensor(pictures: np.ndarray) -> torch.Tensor:
    """Return pictures as a network takes them: channels first, from -1 to 1."""
    return torch.from_numpy(np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))).float() * 2 - 1
