"""What a grid, a random and a Bayesian search look at, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lesson.show.plots import Picture

Point = tuple[float, float]  # a learning rate and a momentum
RATES, MOMENTA = (1e-4, 1e-1), (0.0, 1.0)
BLUE, RED = "#0b5394", "#a61c00"


def searches(
    tried: Mapping[str, Sequence[Point]], loss: Callable[[float, float], float], path: Path | str
) -> Picture:
    """Draw each search's points over the loss, with a bar of its colours, as PNG.

    `tried` has for each search the (learning rate, momentum) of its trials, in order. Marks below
    each map show which learning rates were tried, and a ring the best trial.
    """
    import numpy as np
    from matplotlib.figure import Figure

    rates, momenta = np.geomspace(*RATES, 60), np.linspace(*MOMENTA, 40)
    heights = [[loss(float(rate), float(momentum)) for rate in rates] for momentum in momenta]
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    panels = figure.subplots(1, len(tried), sharey=True, squeeze=False)[0]
    for axes, (name, points) in zip(panels, tried.items(), strict=True):
        ground = axes.contourf(
            rates, momenta, heights, levels=12, cmap="Greys_r", vmin=0.30, vmax=0.42
        )
        x, y = zip(*points, strict=True)
        axes.scatter(x, y, s=30, color=BLUE, edgecolor="white", zorder=2, clip_on=False)
        best = min(points, key=lambda point: loss(*point))
        axes.scatter(*best, s=160, facecolor="none", edgecolor=RED, linewidth=2.5, zorder=3)
        axes.plot(x, [-0.1] * len(x), marker="|", ls="", color=BLUE, markersize=14, clip_on=False)
        axes.set(xscale="log", xlim=RATES, ylim=(-0.2, 1.05), title=f"{name}: {_rates(points)}")
        axes.set(xlabel="learning rate", yticks=[0, 0.5, 1])
    panels[0].set(ylabel="momentum")
    figure.colorbar(ground, ax=panels, label="loss", format="%.2f")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return Picture(path, " ".join(_describe(name, tried[name], loss) for name in tried))


def _rates(points: Sequence[Point]) -> str:
    return f"{len({rate for rate, _ in points})} learning rates"


def _describe(name: str, points: Sequence[Point], loss: Callable[[float, float], float]) -> str:
    """Return one search in words."""
    rate, momentum = min(points, key=lambda point: loss(*point))
    close = sum(rate / 2 < other < rate * 2 for other, _ in points)
    return (
        f"{name.capitalize()}: {len(points)} trials with {_rates(points)}; the best has "
        f"{rate:.2g} and a momentum of {momentum:.2f}, and {close} of the trials have a learning "
        "rate of half to twice as much."
    )
