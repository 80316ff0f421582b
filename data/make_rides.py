"""Make taxi rides in the columns of New York's: ``python -m data.make_rides FOLDER``.

Every ride is invented and free to share (CC0). A fare follows a tariff like the city's: 2.50
dollars, 0.50 for each fifth of a mile, or for each minute in slow traffic; 0.50 more at night, 1.00
more from 4 to 8 p.m. on weekdays; 52 dollars between Manhattan and JFK airport. The same files come
out on every machine: only ``Random.random()`` is used, the one method whose sequence Python
promises to keep for a given seed.
"""

from __future__ import annotations

import argparse
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

SEED = 2014
COLUMNS = (
    "fare_amount,pickup_datetime,pickup_longitude,pickup_latitude,"
    "dropoff_longitude,dropoff_latitude,passenger_count,key"
)
MANHATTAN, JFK, LAGUARDIA = (-73.98, 40.755), (-73.785, 40.645), (-73.873, 40.774)
MILES = (52.4, 69.0)  # of a degree of longitude, of latitude, at New York
AVENUES = math.radians(29)  # east of north
SPREAD = (0.009, 0.024)  # of Manhattan, across and along the avenues, in degrees
AIRPORT = 0.002  # how far its terminals lie apart, in degrees
YEAR = 365 * 24 * 60  # minutes


def _bell(random: Random) -> float:
    """Return a number around 0 with standard deviation 1."""
    return sum(random.random() for _ in range(12)) - 6


def _place(random: Random) -> tuple[tuple[float, float], bool]:
    """Return a longitude and latitude, and whether they are at JFK."""
    draw = random.random()
    if draw < 0.05:
        center = JFK if draw < 0.02 else LAGUARDIA
        return (
            center[0] + AIRPORT * _bell(random),
            center[1] + AIRPORT * _bell(random),
        ), draw < 0.02
    across, along = SPREAD[0] * _bell(random), SPREAD[1] * _bell(random)
    x = across * math.cos(AVENUES) + along * math.sin(AVENUES)
    y = along * math.cos(AVENUES) - across * math.sin(AVENUES)
    return (MANHATTAN[0] + x, MANHATTAN[1] + y), False


def _miles(start: tuple[float, float], end: tuple[float, float]) -> float:
    """Return the length of a ride along streets and avenues."""
    east, north = ((b - a) * scale for a, b, scale in zip(start, end, MILES, strict=True))
    across = abs(east * math.cos(AVENUES) - north * math.sin(AVENUES))
    return across + abs(east * math.sin(AVENUES) + north * math.cos(AVENUES))


def _fare(start: datetime, miles: float, flat: bool, *, traffic: float) -> float:
    """Return the fare in dollars."""
    working, hour = start.weekday() < 5, start.hour
    if flat:
        return 52.0
    slow = (2.5 if working and 8 <= hour < 19 else 0.5) * traffic  # minutes to a mile
    fare = 2.5 + 0.5 * math.floor(5 * miles) + 0.5 * math.floor(slow * 2 * miles)
    return fare + (0.5 if hour >= 20 or hour < 6 else 1.0 if working and 16 <= hour < 20 else 0.0)


def rides(count: int, seed: int = SEED) -> list[str]:
    """Return rides as lines of CSV, without their end."""
    random, lines = Random(seed), []
    for number in range(count):
        (start, at_jfk), (end, to_jfk) = _place(random), _place(random)
        begun = datetime(2014, 1, 1, tzinfo=UTC) + timedelta(minutes=int(random.random() * YEAR))
        traffic = math.exp(0.2 * _bell(random))
        passengers = 1 + int(6 * random.random() ** 4)
        fare = _fare(begun, _miles(start, end), at_jfk != to_jfk, traffic=traffic)
        where = ",".join(f"{each:.6f}" for each in (*start, *end))
        lines.append(f"{fare:.1f},{begun:%Y-%m-%d %H:%M:%S} UTC,{where},{passengers},{number}")
    return lines


def write(folder: Path, train: int = 20_000, valid: int = 4_000, *, shards: int = 4) -> list[Path]:
    """Write taxi-train-… and taxi-valid-… in shards, without a header; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    lines, paths = rides(train + valid), []
    for part, rows in (("train", lines[:train]), ("valid", lines[train:])):
        for shard in range(shards):
            path = folder / f"taxi-{part}-{shard:012d}.csv"
            path.write_text("".join(f"{line}\n" for line in rows[shard::shards]))
            paths.append(path)
    return paths


def main() -> None:
    """Write the rides into a folder."""
    parser = argparse.ArgumentParser("data.make_rides", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    for path in write(parser.parse_args().folder):
        print(path)


if __name__ == "__main__":
    main()
