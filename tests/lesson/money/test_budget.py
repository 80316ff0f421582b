"""LESSON_BUDGET: what it is, what counts against it, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lesson import LessonError
from lesson.jobs.listing import as_table, row
from lesson.jobs.spec import Times
from lesson.money import budget
from lesson.money.costs import Estimate, Price, PriceUnknown, estimate
from local_cloud import Bill

BOX = Price(0.25, "https://example.org/prices", "2026-10-07", "as on the page")


def an_hour() -> Estimate:
    return estimate(("box", BOX), replicas=2)


def leak(kind: str, per_day: float | None, so_far: float) -> dict[str, Any]:
    """As `local-cloud bill --json` prints it."""
    return {
        "cloud": "A cloud",
        "kind": kind,
        "what": f"{kind} x",
        "on": "1 × box",
        "since": 0.0,
        "dollars_per_day": per_day,
        "dollars": so_far,
        "remove": "",
    }


def nobody() -> float:
    raise AssertionError("the service is asked under LESSON_TARGET=cloud alone")


@pytest.mark.parametrize(
    ("text", "dollars"), [("", None), ("5", 5.0), (" 0.50 ", 0.5), ("$5", 5.0)]
)
def test_a_budget_is_a_number_of_dollars(
    monkeypatch: pytest.MonkeyPatch, text: str, dollars: float | None
) -> None:
    monkeypatch.setenv(budget.VARIABLE, text)
    assert budget.budget() == dollars


@pytest.mark.parametrize("text", ["five", "€5", "-1", "nan", "inf"])
def test_what_is_no_amount_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(budget.VARIABLE, text)
    with pytest.raises(LessonError, match=r"set it to dollars, such as 5 or 2\.50, or unset it"):
        budget.require(an_hour, budget.HOUR, nobody)


def test_without_a_budget_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(budget.VARIABLE, raising=False)
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    budget.require(an_hour, budget.HOUR, nobody)


def test_a_job_counts_its_first_hour_and_an_endpoint_its_first_day() -> None:
    assert budget.excess(1.50, 1.0, an_hour(), hours=budget.HOUR) == ""  # exactly the budget
    assert budget.excess(1.50, 1.0, an_hour(), hours=budget.DAY) == (
        "not sent: LESSON_BUDGET is $1.50, $1.00 is spent or committed so far (local_cloud.bill()"
        " lists it), and the first day of 2 × box would add $12.00; to send it, end what still"
        " costs money, or raise LESSON_BUDGET to $13.00"
    )


def test_what_else_a_request_costs_is_added_and_named() -> None:
    also = {"the run's fee": 0.25, "the first day of an endpoint": 1.0}
    assert budget.excess(1.75, 0.0, an_hour(), hours=budget.HOUR, also=also) == ""
    assert (
        "and the first hour of 2 × box and the run's fee and the first day of an endpoint would"
        in (budget.excess(1.5, 0.0, an_hour(), hours=budget.HOUR, also=also))
    )


def test_what_runs_or_waits_has_promised_its_first_hour_or_day() -> None:
    leaks = [
        leak("custom job", 24.0, 0.25),  # an hour of it costs 1 dollar, and a quarter is billed
        leak("endpoint", 3.0, 0.5),
        leak("endpoint", 3.0, 7.0),  # it has been there for more than a day
        leak("bucket", 100.0, 0.0),
        leak("training job", None, 0.0),  # of an unknown price
        leak("tuning trial", 48.0, 0.0),
    ]
    bill = Bill.of({"at": 0.0, "rows": [], "leaks": leaks, "queued": []})
    assert budget.estimate_commitments(bill.leaks) == pytest.approx(0.75 + 2.5 + 2.0)


def test_what_has_no_price_is_not_sent_under_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Estimate:
        raise PriceUnknown("no sourced price is known here for the machine huge")

    monkeypatch.setenv(budget.VARIABLE, "1000")
    with pytest.raises(PriceUnknown, match="not sent, because LESSON_BUDGET is set and no sourced"):
        budget.require(unknown, budget.HOUR, nobody)


def test_under_cloud_the_service_is_asked_and_what_is_not_counted_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.setenv(budget.VARIABLE, "2")
    budget.require(an_hour, budget.HOUR, lambda: 1.5)
    with pytest.raises(LessonError, match=r"\$1.51 is .* \(not counted: the other cloud, del"):
        budget.require(an_hour, budget.HOUR, lambda: 1.51)


def test_jobs_of_a_list_count_what_they_have_cost_and_an_hour_while_they_run() -> None:
    def estimate_cost(machine: str, replicas: int, hours: float) -> Estimate:
        if machine != "box":
            raise PriceUnknown("no price")
        return estimate((machine, BOX), replicas=replicas, hours=hours)

    now = datetime.now(UTC)
    a_minute = Times(now - timedelta(minutes=1), now, now)
    two_hours = Times(now - timedelta(hours=2), now, now)
    listed = as_table(
        [
            row("a", ("succeeded", ""), a_minute, replicas=1, machine="box"),
            row("b", ("running", ""), a_minute, replicas=1, machine="box"),
            row("c", ("queued", ""), a_minute, replicas=2, machine="box"),
            row("d", ("running", ""), two_hours, replicas=1, machine="box"),
            row("e", ("running", ""), a_minute, replicas=1, machine="huge"),
        ]
    )
    assert budget.of_jobs(listed, estimate_cost) == pytest.approx(
        0.25 / 60 + 0.25 + 2 * 0.25 + 2 * 0.25
    )
    assert budget.of_jobs(listed[:0], estimate_cost) == 0


def test_an_endpoint_counts_a_day_at_least_and_nothing_without_a_price() -> None:
    def unknown(hours: float) -> Estimate:
        raise PriceUnknown("no price")

    def boxes(hours: float) -> Estimate:
        return estimate(("box", BOX), hours=hours)

    now = datetime.now(UTC)
    assert budget.of_endpoint(now, boxes) == pytest.approx(24 * BOX.usd)
    two_days_ago = now - timedelta(days=2)
    assert budget.of_endpoint(two_days_ago, boxes) == pytest.approx(48 * BOX.usd, abs=0.01)
    assert budget.of_endpoint(now, unknown) == 0
