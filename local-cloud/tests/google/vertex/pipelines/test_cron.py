"""Cron expressions: the times that they name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.pipelines.cron import Cron

BEGIN = datetime(2026, 11, 27, 2, 30, 20, tzinfo=UTC)  # a Friday


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("* * * * *", ["2026-11-27 02:31", "2026-11-27 02:32"]),
        ("30 * * * *", ["2026-11-27 03:30", "2026-11-27 04:30"]),
        ("*/20 3 * * *", ["2026-11-27 03:00", "2026-11-27 03:20", "2026-11-27 03:40"]),
        ("0 9-11/2 * * *", ["2026-11-27 09:00", "2026-11-27 11:00", "2026-11-28 09:00"]),
        ("0 0 * * mon,7", ["2026-11-29 00:00", "2026-11-30 00:00", "2026-12-06 00:00"]),
        ("0 0 1 jan-mar *", ["2027-01-01 00:00", "2027-02-01 00:00", "2027-03-01 00:00"]),
        ("0 0 29 2 *", ["2028-02-29 00:00"]),
        ("0 0 */31 2 wed", ["2034-02-01 00:00", "2040-02-01 00:00"]),  # years apart
        ("0 0 28 * fri", ["2026-11-28 00:00", "2026-12-04 00:00"]),  # one of the two is enough
        ("TZ=America/New_York 0 9 * * *", ["2026-11-27 14:00", "2026-11-28 14:00"]),
        ("CRON_TZ=Asia/Kolkata 0 9 * * *", ["2026-11-27 03:30"]),
    ],
)
def test_the_next_times(text: str, times: list[str]) -> None:
    cron, at, moments = Cron.of(text), BEGIN.timestamp(), []
    for _ in times:
        following = cron.after(at)
        assert following is not None
        at = following
        moments.append(datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M"))
    assert moments == times


def test_a_day_that_never_comes() -> None:
    assert Cron.of("0 0 30 2 *").after(BEGIN.timestamp()) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "60 * * * *",
        "5-1 * * * *",
        "*/0 * * * *",
        "x * * * *",
        "TZ=Mars/One * * * * *",
    ],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ApiError, match=r"schedule\.cron"):
        Cron.of(text)
