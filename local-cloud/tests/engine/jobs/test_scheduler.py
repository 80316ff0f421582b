"""Whose turn it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.engine.jobs import scheduler
from local_cloud.engine.jobs.scheduler import Demand, Scheduler, limit_demand, next_to_start
from local_cloud.engine.spec import State
from tests.engine.support import SLEEP, Cloud, engine, plan, python, run, until

SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), max_size=12)


def queue(sizes: list[tuple[int, int]], cores: int, gpus: int) -> list[Demand]:
    return [
        limit_demand(str(n), size=size, gpus=gpu, machine_cores=cores, machine_gpus=gpus)
        for n, (size, gpu) in enumerate(sizes)
    ]


@given(SIZES, st.integers(1, 4), st.integers(0, 2))
def test_jobs_start_in_order_and_within_what_is_there(
    sizes: list[tuple[int, int]], cores: int, gpus: int
) -> None:
    waiting = queue(sizes, cores, gpus)
    starting = next_to_start(waiting, cores, gpus)
    assert starting == waiting[: len(starting)]
    assert sum(job.cores for job in starting) <= cores
    assert sum(job.gpus for job in starting) <= gpus


@given(SIZES, st.integers(1, 4), st.integers(0, 2))
def test_every_job_has_its_turn(sizes: list[tuple[int, int]], cores: int, gpus: int) -> None:
    waiting = queue(sizes, cores, gpus)
    while waiting:
        starting = next_to_start(waiting, cores, gpus)  # on a machine with nothing else to do
        assert starting
        waiting = waiting[len(starting) :]


def test_a_small_job_does_not_overtake_a_big_one() -> None:
    assert next_to_start([Demand("big", 2), Demand("small", 1)], free_cores=1, free_gpus=0) == []


def test_a_job_bigger_than_the_machine_takes_all_of_it() -> None:
    assert limit_demand("big", size=9, gpus=4, machine_cores=2, machine_gpus=1) == Demand(
        "big", 2, 1
    )


def looked_at(seconds: float, work: float) -> bool:
    """Whether a job still holds its cores that others have waited for so long.

    work: cores that it keeps busy.
    """
    share, now = Scheduler(1, ()), 100.0
    share.take(Demand("a", 1))
    while now <= 100 + seconds:
        share.look(now, {"a": 7 + work * now})
        now += scheduler.PERIOD
    return share.holds("a")


def test_a_job_that_works_holds_its_cores_for_a_quarter_of_an_hour() -> None:
    assert looked_at(895, work=0.5)
    assert not looked_at(900, work=0.5)


def test_a_job_that_does_nothing_holds_them_for_half_a_minute() -> None:
    assert looked_at(25, work=0.001)
    assert not looked_at(30, work=0.001)


def test_one_that_works_again_holds_them_again_and_only_the_wait_of_others_counts() -> None:
    share = Scheduler(1, ())
    share.take(Demand("a", 1))
    for now in range(0, 60, 5):
        share.look(now, {"a": 0.0})
    assert not share.holds("a")
    share.look(60, {"a": 4.0})
    assert share.holds("a")
    share.look(5000, {"a": 2000.0})  # nobody has waited in between
    assert share.holds("a")


def test_what_nobody_holds_is_given_to_the_next_and_what_nobody_has_first() -> None:
    machine = Scheduler(2, (0, 1))
    a, b = machine.demand_of("a", 1, 1), machine.demand_of("b", 1, 2)
    assert machine.next_to_start([a, b]) == [a]
    assert machine.take(a) == (0,)
    assert machine.next_to_start([b]) == []
    for now in range(0, 60, 5):
        machine.look(now, {"a": 0.0})
    assert machine.next_to_start([b]) == [b]
    assert machine.take(b) == (1, 0)
    machine.release("a")
    assert machine.next_to_start([a]) == []
    machine.release("b")
    assert machine.next_to_start([a]) == [a]


STUCK = {
    "does nothing": SLEEP,
    "works for ever": python("while True: pass"),
}


@pytest.mark.parametrize("how", STUCK)
def test_a_stuck_job_runs_on_and_the_next_one_starts_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(scheduler, "PERIOD", 0.05)
    monkeypatch.setattr(scheduler, "IDLE" if how == "does nothing" else "PATIENCE", 0.3)
    cloud = Cloud(stuck=plan(STUCK[how]), next=plan(python("")))

    async def story() -> None:
        async with engine(tmp_path, cloud, cores=1) as here:
            here.submit("cloud", "stuck", 1)
            here.submit("cloud", "next", 1)
            assert (await until(here, "next")).state is State.SUCCEEDED
            assert here.get("stuck").state is State.RUNNING

    run(story())
