"""How many replicas a load needs."""

from __future__ import annotations

from local_cloud.engine.serving.autoscaler import GROW, SHRINK, TARGET, Autoscaler

STEP = 0.5


def follow(scaler: Autoscaler, start: float, seconds: float, replicas: int) -> tuple[float, int]:
    """Look as often as the engine does; the time afterwards, and how many replicas there are."""
    now = start
    while now < start + seconds:
        now += STEP
        replicas = scaler.choose_replicas(now, replicas)
    return now, replicas


def test_replicas_grow_with_the_requests_at_a_time_and_shrink_one_by_one() -> None:
    scaler = Autoscaler(1, 4, now=0.0)
    for _ in range(int(2.5 * TARGET)):
        scaler.begin(0.0)
    assert scaler.choose_replicas(GROW / 2, 1) == 1  # a moment of load is not enough
    now, replicas = follow(scaler, 0.0, GROW + STEP, 1)
    assert replicas == 3
    now, replicas = follow(scaler, now, 100.0, replicas)
    assert replicas == 3
    for _ in range(int(2.5 * TARGET)):
        scaler.end(now)
    assert scaler.active == 0
    now, replicas = follow(scaler, now, GROW, replicas)
    assert replicas == 3  # a moment without load is not enough
    now, replicas = follow(scaler, now, 3 * SHRINK, replicas)
    assert replicas == 1


def test_one_that_starts_slowly_is_not_taken_away_before_it_was_of_use() -> None:
    scaler = Autoscaler(1, 2, now=0.0)
    for _ in range(int(2 * TARGET)):
        scaler.begin(0.0)
    now, replicas = follow(scaler, 0.0, GROW + STEP, 1)
    for _ in range(int(2 * TARGET)):
        scaler.end(now)
    ready = now + 3 * SHRINK
    while now < ready:
        now += STEP
        assert scaler.choose_replicas(now, replicas, starting=True) == 2
    now, replicas = follow(scaler, now, SHRINK / 2, replicas)
    assert replicas == 2
    now, replicas = follow(scaler, now, SHRINK, replicas)
    assert replicas == 1


def test_there_are_never_more_nor_fewer_than_were_asked_for() -> None:
    scaler = Autoscaler(2, 3, now=0.0)
    _, replicas = follow(scaler, 0.0, 3 * SHRINK, 2)
    assert replicas == 2
    for _ in range(int(100 * TARGET)):
        scaler.begin(3 * SHRINK)
    _, replicas = follow(scaler, 3 * SHRINK, 3 * SHRINK, 2)
    assert replicas == 3
