"""Sampled Shapley values: what each feature adds to a prediction, without a look inside the model.

A path goes from a baseline to an instance and changes one feature after the other, in a random
order; what the prediction changes by is that feature's. Attributions are means over the paths, so
that their sum is what the prediction differs by from the baseline's.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

Feature = TypeVar("Feature")


def paths(features: Sequence[Feature], count: int) -> list[list[Feature]]:
    """Return orders of the features, the same ones at every call."""
    chance = random.Random(0)
    return [chance.sample(features, len(features)) for _ in range(count)]


def changes(
    paths: Sequence[Sequence[Feature]], values: Sequence[float]
) -> list[dict[Feature, float]]:
    """Return what each feature changed on each path; values: predictions along all paths, in a row.

    A path of n features has n + 1 predictions, the first of which is the baseline's.
    """
    by_path, start = [], 0
    for path in paths:
        own = values[start : start + len(path) + 1]
        by_path.append({name: own[at + 1] - own[at] for at, name in enumerate(path)})
        start += len(path) + 1
    return by_path


def means(
    changes: Sequence[dict[Feature, float]], names: Sequence[Feature]
) -> dict[Feature, float]:
    """Return the means over the paths; 0 for a feature that none changes."""
    count = max(1, len(changes))
    return {name: sum(each.get(name, 0.0) for each in changes) / count for name in names}
