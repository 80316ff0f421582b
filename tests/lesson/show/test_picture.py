"""Plots can be read in a light theme and in a dark one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lesson.show import picture
from tests.lesson.contrast import contrast

ROOT = Path(__file__).parents[3]
COLOURS = sorted(
    {
        colour
        for name in ("plots", "trial_plots", "search_plots")
        for colour in re.findall(
            r'"#([0-9a-f]{6})"', (ROOT / "lesson/show" / f"{name}.py").read_text(encoding="utf-8")
        )
    }
    - {"ffffff", "9fc5e8"}  # fills, which have a black edge
)


def turned(colour: tuple[float, ...]) -> tuple[float, ...]:
    """A colour after the filter of the dark theme, as CSS defines its two functions."""
    red, green, blue = (0.93 * (255 - value) + 0.07 * value for value in colour)
    rows = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))
    return tuple(min(255, max(0, r * red + g * green + b * blue)) for r, g, b in rows)


def test_the_filter_is_the_one_that_is_computed_here() -> None:
    assert "filter: invert(0.93) hue-rotate(180deg)" in picture.DARK
    shown = picture.Picture(ROOT / "episodes/fig/tensorboard.png", "A & b")._repr_html_()
    assert picture.DARK in shown and 'class="lesson-plot" alt="A &amp; b"' in shown


@pytest.mark.parametrize("colour", COLOURS)
def test_lines_and_words_stand_out_on_both_grounds(colour: str) -> None:
    of = tuple(int(colour[at : at + 2], 16) for at in (0, 2, 4))
    assert contrast(of, (255, 255, 255)) >= 4.5
    assert contrast(turned(of), turned((255, 255, 255))) >= 4.5
    assert contrast(turned(of), (17, 17, 17)) >= 4.5  # JupyterLab's dark ground


def test_all_colours_are_found() -> None:
    assert {"0b5394", "a61c00", "38761d", "444444"} <= set(COLOURS)
