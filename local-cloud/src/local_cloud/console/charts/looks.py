"""How a reader wants the charts of a page drawn, as the query of the page's URL says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

SMOOTHINGS = ("0.6", "0.9", "0.99")  # TensorBoard's first choice is 0.6


@dataclass(frozen=True)
class Choice:
    """A link that draws the charts in another way."""

    text: str
    href: str
    current: bool


@dataclass(frozen=True)
class Look:
    """Whether the values' axis is logarithmic, and how much of each value those before it are."""

    log: bool = False
    smoothing: float = 0.0

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Look:
        """Read a page's query; what it does not know counts as nothing."""
        chosen = query.get("smoothing", "")
        return cls(query.get("scale") == "log", float(chosen) if chosen in SMOOTHINGS else 0.0)


AS_IT_IS = Look()


def scales(query: QueryParams, part: str) -> list[Choice]:
    """Return the links to both scales; part: the id of the page's part with the charts."""
    known = {"": "linear", "log": "logarithmic"}
    return _choices(query, part, field="scale", known=known)


def smoothings(query: QueryParams, part: str) -> list[Choice]:
    """Return the links to each smoothing."""
    known = {"": "none", **{each: each for each in SMOOTHINGS}}
    return _choices(query, part, field="smoothing", known=known)


def _choices(
    query: QueryParams, part: str, *, field: str, known: Mapping[str, str]
) -> list[Choice]:
    chosen = query.get(field, "")
    chosen = chosen if chosen in known else ""
    kept = [pair for pair in query.multi_items() if pair[0] != field]
    choices = []
    for value, text in known.items():
        wanted = [*kept, (field, value)] if value else kept
        choices.append(Choice(text, f"?{urlencode(wanted)}#{part}", value == chosen))
    return choices


def smooth(values: Sequence[float], weight: float) -> list[float]:
    """Return each value mixed with the smoothed one before it, which counts with this weight.

    An exponential moving average that begins at the first value and not at zero, as TensorBoard
    draws it (the formula is in the documentation of Weights & Biases, "Smoothing", which names
    TensorBoard's as the same; read on 27 November 2026).
    """
    smoothed, last = list[float](), 0.0
    for count, value in enumerate(values, 1):
        last = last * weight + (1 - weight) * value
        smoothed.append(last / (1 - weight**count))
    return smoothed
