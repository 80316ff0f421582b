"""The bill of a day that is written as data equals the one that is calculated by hand."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.billing import query_records
from local_cloud.billing.ledger import bill, count_billed_seconds
from local_cloud.engine.jobs.rental_records import CLOSED, OPEN
from local_cloud.engine.rental import Machines, Rental, RentedResource, Span
from local_cloud.engine.spec import Attempt, Job, Outcome, State
from local_cloud.platform import Platform

HOUR, DAY = 3600.0, 86400.0
MORNING = 1_795_000_000.0  # of the scripted day
EVENING_AFTER_NEXT = MORNING + 2 * DAY + 10 * HOUR


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    """A platform that is not started: its bill comes from its records and buckets alone."""
    made = Platform.of(tmp_path, {})
    yield made
    made.close_records()


def on_vertex(kind: str, name: str, machines: Machines, **more: str) -> RentedResource:
    return RentedResource(
        "vertex", kind, f"projects/1/locations/us-central1/{name}", (machines,), **more
    )


def on_sagemaker(kind: str, name: str, machines: Machines, **more: str) -> RentedResource:
    return RentedResource("sagemaker", kind, name, (machines,), **more)


def write_job(
    platform: Platform, rented: RentedResource, *attempts: tuple[float, float | None]
) -> None:
    """A job's record as the engine leaves it, with the times of its attempts."""
    name, size = rented.name.rsplit("/", 1)[-1], sum(each.count for each in rented.machines)
    ended = attempts[-1][1]
    state = State.SUCCEEDED if ended else State.RUNNING
    tried = tuple(Attempt(begun, begun, None, end) for begun, end in attempts)
    outcome = Outcome(state, "succeeded", "") if ended else None
    created = attempts[0][0] - 600  # it waited for its turn, which costs nothing
    job = Job(name, rented.cloud, size, state, created, 1, 0, attempts[0][0], ended, outcome, tried)
    platform.records.put("job", name, {**job.document(), "rented": _as_json(rented)})


def _as_json(rented: RentedResource) -> dict[str, object]:
    return Rental("", rented).document()["rented"]


def write_rental(platform: Platform, rented: RentedResource, *spans: Span) -> None:
    rental = Rental(rented.name, rented, spans)
    kind = OPEN if rental.is_running else CLOSED
    platform.records.put(kind, rental.id, rental.document())


def put(platform: Platform, name: str, size: int, at: float) -> None:
    """An object of a bucket `day` of Google's, as the API writes it, at that time."""
    body = platform.gs.upload_file()
    body.write_bytes(b"x" * size)
    with pytest.MonkeyPatch.context() as patch:
        set_clock(patch, at)
        platform.gs.put("day", name, body)


def delete(platform: Platform, name: str, at: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        set_clock(patch, at)
        platform.gs.delete("day", name)


def set_clock(patch: pytest.MonkeyPatch, at: float) -> None:
    patch.setattr("time.time", lambda: at)
    patch.setattr("time.time_ns", lambda: int(at * 1e9))


def write_object(platform: Platform, scheme: str, name: str, size: int, at: float) -> None:
    """An object of so many bytes, written at that time; the file has a hole instead of bytes."""
    objects = {"gs": platform.gs, "s3": platform.s3}[scheme]
    path = objects.folder / "day" / name
    with open(path, "wb") as file:
        file.truncate(size)
    os.utime(path, (at, at))


def test_the_bill_of_a_scripted_day_equals_the_one_calculated_by_hand(platform: Platform) -> None:
    """30 jobs, 3 endpoints, a notebook, 2 buckets and a query; two days nobody looks after them."""
    begun = MORNING
    for n in range(10):  # each of 100 s, so of 120 s on the bill
        job = on_vertex("custom job", f"customJobs/{n}", Machines("n1-standard-4"))
        write_job(platform, job, (begun + n, begun + n + 100.0))
    for n in range(10, 15):  # 2 machines with 1 T4 each, for exactly 60 s
        job = on_vertex(
            "tuning trial", f"customJobs/{n}", Machines("n1-standard-8", 2, "NVIDIA_TESLA_T4", 1)
        )
        write_job(platform, job, (begun, begun + 60.0))
    for n in range(14):  # 135.2 s, so 136 s
        training = on_sagemaker("training job", f"train-{n}", Machines("ml.m5.large"))
        write_job(platform, training, (begun, begun + 135.2))
    # Interrupted for an hour, which is not billed: 100.4 s and 50.4 s make 151 s of 3 instances.
    spot = on_sagemaker("training job", "spot", Machines("ml.g4dn.xlarge", 3))
    write_job(platform, spot, (begun, begun + 100.4), (begun + HOUR, begun + HOUR + 50.4))

    # The first endpoint was removed after 4 hours and 1 second; for one hour it had 3 replicas.
    noon = begun + 2 * HOUR
    first = on_vertex("endpoint", "endpoints/1", Machines("n1-standard-2"))
    write_rental(
        platform,
        first,
        Span(noon, noon + HOUR, 1),
        Span(noon + HOUR, noon + 2 * HOUR, 3),
        Span(noon + 2 * HOUR, noon + 4 * HOUR + 1, 1),
    )
    # These two, and the notebook, were forgotten.
    until = EVENING_AFTER_NEXT
    second = on_vertex("endpoint", "endpoints/2", Machines("n1-standard-4"))
    write_rental(platform, second, Span(until - 50 * HOUR, None, 1))
    third = on_sagemaker("endpoint", "titanic", Machines("ml.m5.large"))
    write_rental(platform, third, Span(until - 49 * HOUR - 0.5, None, 2))
    notebook = on_sagemaker("notebook instance", "mine", Machines("ml.t3.medium"))
    write_rental(platform, notebook, Span(until - 58 * HOUR, None, 1))

    platform.gs.create_bucket("day", {})
    platform.s3.create_bucket("day", {})
    write_object(platform, "gs", "data", 5 * 2**20, until - 2 * DAY)
    write_object(platform, "s3", "data", 3 * 2**20, until - 2 * DAY)
    # 10 MB at least of the first table, and 3,073 MB of the second
    billed = query_records.count_billed_bytes([1_000, 3 * 2**30 + 1])
    query = query_records.Query("q", noon, 3 * 2**30 + 1_001, billed)
    query_records.note(platform.records, query)

    by_hand = [
        10 * 120 / 3600 * 0.21849885,
        5 * 2 * 60 / 3600 * (2 * 0.21849885 + 0.4025),
        14 * 136 / 3600 * 0.115,
        3 * 151 / 3600 * 0.736,
        (4 + 30 / 3600 + 2 * 1) * 0.1095,
        50 * 0.2190,
        2 * (49 + 1 / 3600) * 0.115,
        58 * 0.05,
        5 / 1024 * (48 / 730) * 0.020,
        3 / 1024 * (48 / 730) * 0.023,
        (10 + 3073) / 2**20 * 6.25,
    ]
    made = bill(platform, now=until)
    assert f"{made.dollars:.2f}" == f"{sum(by_hand):.2f}" == "26.16"
    assert math.isclose(made.dollars, sum(by_hand), rel_tol=1e-9)
    assert len(made.rows) == 10 + 2 * 5 + 14 + 1 + 3 + 1 + 2 + 1 and not made.unpriced
    leaks = {leak.what: leak.dollars_per_day for leak in made.leaks}
    assert leaks == pytest.approx(
        {
            "endpoint titanic": 24 * 2 * 0.115,
            "endpoint 2": 24 * 0.2190,
            "notebook instance mine": 24 * 0.05,
            "bucket gs://day": 5 / 1024 * 24 / 730 * 0.020,
            "bucket s3://day": 3 / 1024 * 24 / 730 * 0.023,
        }
    )


def test_an_object_that_is_deleted_or_overwritten_stays_on_the_bill(platform: Platform) -> None:
    platform.gs.create_bucket("day", {})
    put(platform, "a", 1000, MORNING)
    put(platform, "a", 3000, MORNING + HOUR)
    put(platform, "b", 500, MORNING + HOUR)

    def held(at: float) -> float:
        """Byte-hours."""
        (row,) = bill(platform, now=at).rows
        assert row.dollars == pytest.approx(row.quantity * 0.020) and row.since == MORNING
        return row.quantity * 2**30 * 730

    assert held(MORNING + 3 * HOUR) == pytest.approx(1000 + 2 * 3000 + 2 * 500)
    platform.gs.update("day", "a", lambda one: ("text/plain", {}))  # begins nothing anew
    delete(platform, "b", MORNING + 3 * HOUR)
    assert held(MORNING + 4 * HOUR) == pytest.approx(1000 + 3 * 3000 + 2 * 500)
    delete(platform, "a", MORNING + 4 * HOUR)
    assert held(MORNING + DAY) == pytest.approx(1000 + 3 * 3000 + 2 * 500)
    assert bill(platform).rows[0].on == "empty now"
    platform.gs.delete_bucket("day")
    assert held(MORNING + DAY) == pytest.approx(1000 + 3 * 3000 + 2 * 500)
    made = bill(platform)
    assert made.leaks == [] and made.rows[0].on == "deleted"
    assert made.rows[0].until == MORNING + 4 * HOUR


def test_a_training_of_bigquery_ml_has_a_price_of_its_own(platform: Platform) -> None:
    billed = query_records.count_billed_bytes([1_000])
    for kind in (query_records.CREATE_MODEL, query_records.EXTERNAL_MODEL):
        query = query_records.Query("m", MORNING, 1_000, billed, kind)
        query_records.note(platform.records, replace(query, name=kind[-3:]))
    unpriced, own = sorted(bill(platform).rows, key=lambda row: row.dollars or 0)
    assert own.dollars == pytest.approx(0.00298, abs=1e-5) and own.what.startswith("CREATE MODEL")
    assert unpriced.dollars is None  # Vertex AI bills it, at a rate that is not known here


def test_what_has_no_price_is_named_and_not_invented(platform: Platform) -> None:
    unknown = on_vertex("custom job", "customJobs/1", Machines("a3-ultragpu-8g"))
    write_job(platform, unknown, (MORNING, MORNING + 60))
    gpu = on_vertex("custom job", "customJobs/2", Machines("n1-standard-4", 1, "NVIDIA_L4", 1))
    write_job(platform, gpu, (MORNING, MORNING + 60))
    made = bill(platform, now=MORNING + DAY)
    assert [row.on for row in made.unpriced] == ["1 × a3-ultragpu-8g", "1 × NVIDIA_L4"]
    assert made.dollars == pytest.approx(60 / 3600 * 0.21849885)
    assert "not in the total: custom job 1 (1 × a3-ultragpu-8g)" in str(made)


def test_a_job_that_runs_is_billed_until_now_and_listed_with_the_call_that_ends_it(
    platform: Platform,
) -> None:
    trial = on_sagemaker("tuning trial", "t-001", Machines("ml.m5.xlarge"), owner="study")
    write_job(platform, trial, (MORNING, None))
    made = bill(platform, now=MORNING + 1.5)
    (row,), (leak,) = made.rows, made.leaks
    assert row.until is None and row.dollars == pytest.approx(2 / 3600 * 0.23)
    assert leak.dollars_per_day == pytest.approx(24 * 0.23)
    assert 'stop_hyper_parameter_tuning_job(HyperParameterTuningJobName="study")' in leak.remove


def test_a_job_that_waits_costs_nothing(platform: Platform) -> None:
    two = on_vertex("custom job", "customJobs/1", Machines("n1-standard-4", 2))
    waiting = Job("waits", "vertex", 1, State.QUEUED, MORNING, rented=two)
    platform.records.put("job", "waits", waiting.document())
    made = bill(platform, now=MORNING + DAY)
    assert made.rows == [] and made.leaks == [] and made.dollars == 0
    assert [each.dollars_per_day for each in made.queued] == [pytest.approx(48 * 0.21849885)]
    report = made.leak_report()
    assert report.startswith("Nothing costs money now.\n\nQueued, and will cost money when")
    assert "- custom job 1 (2 × n1-standard-4), 10.49 dollars a day" in report
    assert 'CustomJob.get("projects/1/locations/us-central1/customJobs/1").cancel()' in report
    assert "- custom job 1" in str(made)


def test_a_node_hour_of_automl_takes_less_time_here_and_costs_the_same(platform: Platform) -> None:
    """The local cloud gives a node hour so many seconds; the service bills node hours."""
    training = replace(
        on_vertex("AutoML table training", "trainingPipelines/1", Machines("a node of AutoML")),
        scale=180.0,
    )
    write_job(platform, training, (MORNING, MORNING + 10.0))
    (row,) = bill(platform, now=MORNING + DAY).rows
    assert (row.quantity, row.dollars) == (0.5, pytest.approx(21.252 / 2))


def test_a_job_that_a_killed_server_left_costs_until_its_last_sign_of_life(
    tmp_path: Path,
) -> None:
    """Its record may be closed days later, by the next start."""

    async def restarted() -> None:
        platform = Platform.of(tmp_path, {})
        left = on_sagemaker("training job", "left", Machines("ml.m5.large"))
        write_job(platform, left, (MORNING, None))
        log = tmp_path / "jobs" / "left" / "algo-1.log"
        log.parent.mkdir(parents=True)
        log.write_text("epoch 1")
        os.utime(log, (MORNING + 90.5, MORNING + 90.5))
        await platform.engine.start({})
        (row,) = bill(platform, now=MORNING + DAY).rows
        assert row.until == MORNING + 90.5 and row.quantity == pytest.approx(91 / 3600)
        await platform.engine.close()
        platform.close_records()

    asyncio.run(restarted())


# ---- rounding -----------------------------------------------------------------------------------
def _rental(cloud: str, kind: str, *spans: Span) -> Rental:
    return Rental("id", RentedResource(cloud, kind, "name", (Machines("m"),)), spans)


SECONDS = st.floats(0.01, 1e6)


@given(SECONDS)
def test_vertex_ai_bills_a_job_in_half_minutes_that_have_begun(seconds: float) -> None:
    billed = count_billed_seconds(_rental("vertex", "custom job", Span(0.5, 0.5 + seconds, 1)), 0)
    assert billed % 30 == 0 and billed >= 30 and -1e-3 < billed - seconds < 30


@given(SECONDS)
def test_sagemaker_bills_whole_seconds(seconds: float) -> None:
    billed = count_billed_seconds(
        _rental("sagemaker", "training job", Span(0.5, 0.5 + seconds, 1)), 0
    )
    assert billed == int(billed) and billed >= 1 and -1e-3 < billed - seconds < 1


@given(st.lists(st.tuples(st.integers(1, 10_000), st.integers(0, 4)), min_size=1, max_size=8))
def test_each_replica_is_billed_for_each_time_that_it_ran(steps: list[tuple[int, int]]) -> None:
    """In whole half minutes nothing is rounded: it is the number of replicas times the time."""
    at, spans = 1.0, []
    for halves, times in steps:
        if times:
            spans.append(Span(at, at + 30 * halves, times))
        at += 30 * halves
    billed = count_billed_seconds(_rental("vertex", "endpoint", *spans), at)
    assert billed == sum(30 * halves * times for halves, times in steps)


@given(st.integers(0, 2**45))
def test_a_query_is_billed_by_whole_mb_and_at_least_ten_of_each_table(size: int) -> None:
    from local_cloud.billing.prices import google

    billed = google.QUERY_ROUNDING.round_up(size)
    assert billed % 2**20 == 0 and billed >= 10 * 2**20
    assert billed == 10 * 2**20 or 0 <= billed - size < 2**20
