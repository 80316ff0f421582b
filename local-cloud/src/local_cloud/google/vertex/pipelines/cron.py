"""Times of a cron expression: five fields, and a time zone before them.

Sources: cron in types/schedule.py of the client library; crontab(5) for the fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from local_cloud.google.rest import ApiError

MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
DAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
# What each field may be, and the names for it. Both 0 and 7 are Sunday.
FIELDS: tuple[tuple[str, range, dict[str, int]], ...] = (
    ("minute", range(60), {}),
    ("hour", range(24), {}),
    ("day of month", range(1, 32), {}),
    ("month", range(1, 13), MONTHS),
    ("day of week", range(8), DAYS),
)
PART = re.compile(r"(?:(\*)|(\w+)(?:-(\w+))?)(?:/(\d+))?")
ZONE = re.compile(r"(?:CRON_)?TZ=(\S+)\s+")
LONGEST = 28 * 366  # days to look ahead: then the weekdays fall on the same days again


@dataclass(frozen=True)
class Cron:
    """The minutes at which something is due."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool  # a day that fits one of the two fields is enough, as both are restricted
    zone: tzinfo

    @classmethod
    def of(cls, text: str) -> Cron:
        """Read an expression; INVALID_ARGUMENT if it is none."""
        zone: tzinfo = UTC
        if match := ZONE.match(text):
            text = text[match.end() :]
            try:
                zone = ZoneInfo(match[1])
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise _invalid(text, f"{match[1]} is no time zone") from None
        words = text.split()
        if len(words) != len(FIELDS):
            raise _invalid(text, f"it has {len(words)} fields, and needs {len(FIELDS)}")
        minutes, hours, days, months, weekdays = (
            _read(word, allowed, names, field=f"the {field}")
            for word, (field, allowed, names) in zip(words, FIELDS, strict=True)
        )
        weekdays = frozenset(day % 7 for day in weekdays)
        either = not words[2].startswith("*") and not words[4].startswith("*")
        return cls(minutes, hours, days, months, weekdays, either, zone)

    def after(self, seconds: float) -> float | None:
        """Return the first time after this one, in seconds since the epoch; None: there is none."""
        begin = datetime.fromtimestamp(seconds, self.zone)
        for days in range(LONGEST):
            day = begin.date() + timedelta(days=days)
            if day.month not in self.months or not self._fits(day.day, day.isoweekday() % 7):
                continue
            for hour in sorted(self.hours):
                for minute in sorted(self.minutes):
                    moment = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
                    if moment.timestamp() > seconds:
                        return moment.timestamp()
        return None

    def _fits(self, day: int, weekday: int) -> bool:
        if self.either:
            return day in self.days or weekday in self.weekdays
        return day in self.days and weekday in self.weekdays


def _read(word: str, allowed: range, names: dict[str, int], *, field: str) -> frozenset[int]:
    """Return the values of a field: `*`, `5`, `1-5`, `*/10`, `mon,wed`."""
    values: set[int] = set()
    for part in word.lower().split(","):
        match = PART.fullmatch(part)
        if not match:
            raise _invalid(word, f"{field} cannot be read")
        _, first, last, step = match.groups()
        low = allowed[0] if first is None else _number(first, names, field)
        high = low if last is None else _number(last, names, field)
        if first is None or (step and last is None):
            high = allowed[-1]
        every = int(step or 1)
        if every < 1 or not allowed[0] <= low <= high <= allowed[-1]:
            raise _invalid(word, f"{field} is from {allowed[0]} to {allowed[-1]}")
        values.update(range(low, high + 1, every))
    return frozenset(values)


def _number(word: str, names: dict[str, int], field: str) -> int:
    if word.isdecimal():
        return int(word)
    if word[:3] not in names:
        raise _invalid(word, f"{field} cannot be read")
    return names[word[:3]]


def _invalid(text: str, why: str) -> ApiError:
    return ApiError("INVALID_ARGUMENT", f"schedule.cron: {text!r} is not valid: {why}")
