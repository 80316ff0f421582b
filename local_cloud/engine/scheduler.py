"""Whose turn it is: the queue's rule as a pure function."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Need:
    """What a job takes from the machine while it runs."""

    id: str
    cores: int
    gpus: int = 0


def need(job_id: str, size: int, gpus: int, machine_cores: int, machine_gpus: int) -> Need:
    """What a job of `size` replicas takes: never more than there is, so that every job can run."""
    return Need(job_id, min(size, machine_cores), min(gpus, machine_gpus))


def due(waiting: Iterable[Need], free_cores: int, free_gpus: int) -> list[Need]:
    """The jobs that start now, given those waiting in the order in which they came.

    Strictly in order: a job that does not fit yet holds back all behind it. Some cores then idle
    for a while, and in return no job waits for ever while smaller ones overtake it.
    """
    starting = []
    for job in waiting:
        if job.cores > free_cores or job.gpus > free_gpus:
            break
        starting.append(job)
        free_cores -= job.cores
        free_gpus -= job.gpus
    return starting
