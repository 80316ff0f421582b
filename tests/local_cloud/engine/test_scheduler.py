"""Whose turn it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from local_cloud.engine.scheduler import Need, due, need

SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), max_size=12)


def queue(sizes: list[tuple[int, int]], cores: int, gpus: int) -> list[Need]:
    return [need(str(n), size, gpu, cores, gpus) for n, (size, gpu) in enumerate(sizes)]


@given(SIZES, st.integers(1, 4), st.integers(0, 2))
def test_jobs_start_in_order_and_within_what_is_there(
    sizes: list[tuple[int, int]], cores: int, gpus: int
) -> None:
    waiting = queue(sizes, cores, gpus)
    starting = due(waiting, cores, gpus)
    assert starting == waiting[: len(starting)]
    assert sum(job.cores for job in starting) <= cores
    assert sum(job.gpus for job in starting) <= gpus


@given(SIZES, st.integers(1, 4), st.integers(0, 2))
def test_every_job_has_its_turn(sizes: list[tuple[int, int]], cores: int, gpus: int) -> None:
    waiting = queue(sizes, cores, gpus)
    while waiting:
        starting = due(waiting, cores, gpus)  # on a machine with nothing else to do
        assert starting
        waiting = waiting[len(starting) :]


def test_a_small_job_does_not_overtake_a_big_one() -> None:
    assert due([Need("big", 2), Need("small", 1)], free_cores=1, free_gpus=0) == []


def test_a_job_bigger_than_the_machine_takes_all_of_it() -> None:
    assert need("big", size=9, gpus=4, machine_cores=2, machine_gpus=1) == Need("big", 2, 1)
