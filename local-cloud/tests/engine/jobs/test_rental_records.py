"""What is rented: how the number of replicas that an endpoint has becomes a record of times."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.engine.jobs.rental_records import CLOSED, OPEN, Rentals
from local_cloud.engine.rental import Machines, Rental, RentedResource, Span
from local_cloud.store.records import Records
from tests.engine.serving import test_deployments as replicas

ENDPOINT = RentedResource("cloud", "endpoint", "titanic", (Machines("small"),))
CHANGES = st.lists(st.tuples(st.integers(1, 100), st.integers(0, 5)), max_size=20)


@given(CHANGES)
def test_its_runs_are_as_long_as_its_spans_together(changes: list[tuple[int, int]]) -> None:
    rental, at, machine_seconds = Rental("x", ENDPOINT), 1000.0, 0.0
    for seconds, times in changes:
        rental = rental.with_count(times, at)
        assert rental.times == times
        machine_seconds += seconds * times
        at += seconds
    runs = list(rental.runs(at))
    assert sum((run.until or at) - run.since for run in runs) == machine_seconds
    assert all(run.until is not None and run.until > run.since for run in runs)
    assert Rental.of(rental.document()) == rental


def test_the_second_replica_has_a_run_for_each_time_that_it_was_there() -> None:
    spans = (Span(0.5, 10, 1), Span(10, 20, 3), Span(20, 30, 1), Span(30, None, 2))
    runs = list(Rental("x", ENDPOINT, spans).runs(40))
    assert runs == [Span(0.5, 40, 1), Span(10, 20, 1), Span(30, 40, 1), Span(10, 20, 1)]


def test_what_is_rented_is_on_record_at_once_and_stays_there(tmp_path: Path) -> None:
    records = Records(tmp_path / "records.db")
    rentals = Rentals(records)
    rentals.open("a", ENDPOINT, 2)
    records.close()
    records = Records(tmp_path / "records.db")
    rentals = Rentals(records)
    rentals.change("a", 1)
    rentals.close("a")
    rentals.open("a", ENDPOINT)  # the name again
    rentals.change("unknown", 3)
    rentals.close("unknown")
    first, second = rentals
    assert [span.times for span in first.spans] == [2, 1] and not first.is_running
    assert second.times == 1 and second.rented == ENDPOINT
    assert [len(list(records.list(kind))) for kind in (OPEN, CLOSED)] == [1, 1]
    records.close()


def test_a_change_that_is_rolled_back_costs_nothing(tmp_path: Path) -> None:
    records = Records(tmp_path / "records.db")
    with pytest.raises(ZeroDivisionError), records.transaction():
        Rentals(records).open("a", ENDPOINT)
        _ = 1 / 0
    assert list(Rentals(records)) == []
    records.close()


def test_a_deployment_is_rented_for_as_many_replicas_as_it_is_to_have(tmp_path: Path) -> None:
    """From deploy to remove, whatever the number of replicas was in between, and past a restart."""

    def times(folder: Path) -> list[int]:
        records = Records(folder / "records.db")
        (rental,) = Rentals(records)
        records.close()
        return [span.times for span in rental.spans] + [rental.is_running]

    models = replicas.Models({"blue": replicas.served()})

    async def test() -> None:
        async with replicas.serving(tmp_path, models) as here:
            here.deploy("cloud", replicas.EP, "blue", minimum=1, maximum=3, rented=ENDPOINT)
            here.scale("blue", 2, 3)
            assert times(tmp_path) == [1, 2, True]
        assert times(tmp_path) == [1, 2, True]
        async with replicas.serving(tmp_path, models) as here:
            here.scale("blue", 1, 1)
            here.remove("blue")
        assert times(tmp_path) == [1, 2, 1, False]

    replicas.run(test)


def test_a_deployment_that_fails_is_given_back(tmp_path: Path) -> None:
    models = replicas.Models({"red": replicas.JobRefused("no such model")})

    async def test() -> None:
        async with replicas.serving(tmp_path, models) as here:
            here.deploy("cloud", replicas.EP, "red", rented=ENDPOINT)
            await replicas.ready(here, "red")
            (rental,) = Rentals(here._records)
            assert not rental.is_running

    replicas.run(test)
