"""How the console says things: states of both clouds in the same words, times, sizes."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable
from typing import Any

from local_cloud.client.bill_rows import amount
from local_cloud.engine.spec import State
from local_cloud.http import whole_numbers

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
# What a chip says, and the class by which it is drawn.
STATES = {
    State.QUEUED: ("Queued", "waiting"),
    State.STAGING: ("Starting", "waiting"),
    State.RUNNING: ("Running", "running"),
    State.STOPPING: ("Cancelling", "waiting"),
    State.SUCCEEDED: ("Succeeded", "good"),
    State.FAILED: ("Failed", "bad"),
    State.STOPPED: ("Cancelled", "off"),
}
CLOUDS = {
    "vertex": "Vertex AI",
    "sagemaker": "SageMaker",
    "sagemaker-processing": "SageMaker Processing",
}


def state_word(state: str) -> str:
    """Return a state of the engine in one word."""
    return STATES[State(state)][0]


def state_class(state: str) -> str:
    """Return the class of a state's chip."""
    return STATES[State(state)][1]


def cloud(dialect: str) -> str:
    """Return the name of a cloud's service."""
    return CLOUDS.get(dialect, dialect)


def moment(seconds: float | None) -> str:
    """Write a time in this machine's time zone; seconds since the epoch."""
    if not seconds:
        return "–"
    return datetime.datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def day(seconds: float) -> str:
    """Write the day of a time in this machine's time zone."""
    return moment(seconds).partition(" ")[0]


def clock(seconds: float) -> str:
    """Write the time of day in this machine's time zone."""
    return moment(seconds).partition(" ")[2]


def machine_moment(seconds: float) -> str:
    """Write the time as programs read it, for the attribute of a <time>."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")


def duration(seconds: float | None) -> str:
    """Write how long something took."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def dollars(usd: float | None) -> str:
    """Write dollars for reading: the bill of `python -m local_cloud bill` has all digits."""
    if usd is None:
        return "not priced"
    return "< 0.0001" if 0 < usd < 1e-4 else amount(usd)


def usd(dollars_: float | None) -> str:
    """Write dollars with their sign."""
    text = dollars(dollars_)
    return text if dollars_ is None else f"< ${text[2:]}" if text[0] == "<" else f"${text}"


def size(count: float) -> str:
    """Write a number of bytes."""
    for unit in UNITS[:-1]:
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} {UNITS[-1]}"


def number(value: Any) -> str:
    """Write a number as short as it can be read, anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if not math.isfinite(value) or isinstance(value, int):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.4g}" if value and not 1e-3 <= abs(value) < 1e6 else f"{value:.4f}"


def pretty(document: Any) -> str:
    """Indent JSON for a reader."""
    return json.dumps(document, indent=2, ensure_ascii=False, default=str)


def whole(text: str, otherwise: int = 0) -> int:
    """Read the whole number of a query; return this for what is none, or far too large."""
    number = whole_numbers.whole(text)
    return otherwise if number is None else number


def short(name: str) -> str:
    """Return the last part of a resource's name."""
    return name.rstrip("/").rpartition("/")[2]


FILTERS: dict[str, Callable[..., str]] = {
    "state_word": state_word,
    "state_class": state_class,
    "cloud": cloud,
    "moment": moment,
    "day": day,
    "clock": clock,
    "machine_moment": machine_moment,
    "duration": duration,
    "dollars": dollars,
    "usd": usd,
    "size": size,
    "number": number,
    "pretty": pretty,
    "short": short,
}
