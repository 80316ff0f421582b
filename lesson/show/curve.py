"""A learning curve that grows below a progress bar, drawn for light and dark themes alike."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT, EDGE = 420, 90, 6
MOST = 300  # points that are drawn: more cannot be told apart
LINE = "#2f7fb5"  # contrast of 4:1 and more with white and with JupyterLab's dark ground

Points = Sequence[tuple[int, float]]  # an epoch and its loss on the validation rows


def markup(points: Points) -> str:
    """Return the curve, and below it where it begins and ends; nothing for fewer than two points.

    What it shows is in the words below it, so readers that cannot see it lose nothing, and neither
    does a notebook that is not trusted, which gets no drawing.
    """
    if len(points) < 2:
        return ""
    points = [*points[: -1 : len(points) // MOST + 1], points[-1]]
    (first, begin), (last, end) = points[0], points[-1]
    losses = [loss for _, loss in points]
    low, high = min(losses), max(losses)
    across, up = (WIDTH - 2 * EDGE) / (last - first), (HEIGHT - 2 * EDGE) / ((high - low) or 1)
    line = " ".join(
        f"{EDGE + (epoch - first) * across:.1f},{EDGE + (high - loss) * up:.1f}"
        for epoch, loss in points
    )
    return (
        f'<div><svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-hidden="true"><path d="M1 0V{HEIGHT - 1}H{WIDTH}" fill="none" '
        f'stroke="currentColor"/><polyline points="{line}" fill="none" stroke="{LINE}" '
        f'stroke-width="2.5"/></svg></div>'
        f"<div>validation loss: {begin:.4f} in epoch {first}, {end:.4f} in epoch {last}</div>"
    )
