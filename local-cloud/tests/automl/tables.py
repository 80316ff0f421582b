"""Tables of rides, made by a formula: what a search should find in them is known."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

HEADER = ("distance", "hour", "district", "remark", "paid", "fare")


def rides(path: Path, rows: int = 240, seed: int = 3) -> Path:
    """Write rides; `paid` and `fare` depend on distance and district, not linearly."""
    chance = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(HEADER)
        for number in range(rows):
            distance, hour = chance.uniform(0, 10), int(chance.integers(24))
            district = str(chance.choice(["north", "south", "east"]))
            fare = 3 + 2 * distance + 4 * (district == "north") + chance.normal(0, 0.5)
            odd = (abs(distance - 5) < 2.5) != (chance.uniform() < 0.05)
            shown = "" if number % 11 == 0 else f"{distance:.3f}"
            remark = f"ride number {number}"
            table.writerow(
                [shown, hour, district, remark, "cash" if odd else "card", f"{fare:.2f}"]
            )
    return path
