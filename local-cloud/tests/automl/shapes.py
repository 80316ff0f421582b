"""Pictures that are drawn here, free to use by anybody (CC0): shapes in colours on dark grounds."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageDraw

COLOURS = {"red": (220, 40, 40), "blue": (50, 80, 230)}
SHAPES = ("circle", "square")


def shape(colour: str, form: str, seed: int, side: int = 40) -> bytes:
    """Return a PNG of one shape, at a random place."""
    chance = np.random.default_rng(seed)
    ground = tuple(int(each) for each in chance.integers(0, 60, 3))
    picture = Image.new("RGB", (side, side), ground)
    left, top, size = (int(each) for each in chance.integers((2, 2, 18), (14, 14, 24)))
    draw = ImageDraw.Draw(picture)
    box = (left, top, left + size, top + size)
    (draw.ellipse if form == "circle" else draw.rectangle)(box, fill=COLOURS[colour])
    return png(picture)


def png(picture: Image.Image) -> bytes:
    """Return a picture as a file's content."""
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()
