"""Served replicas: they are started, asked, replaced, added, drained, and run again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.jobs.rental_records import Rentals
from local_cloud.engine.serving.deployments import Deployments
from local_cloud.engine.serving.http_client import HttpRequest
from local_cloud.engine.serving.spec import (
    Deployment,
    NoSuchDeployment,
    ServingPlan,
    ServingState,
    Unanswered,
)
from local_cloud.engine.spec import EngineError, JobContext, JobRefused, Replica
from local_cloud.store.records import Records
from tests.engine.support import Cloud, outside_of

PROGRAM = Path(__file__).with_name("model_server.py")
EP = "endpoint"


def served(name: str = "", **options: Any) -> ServingPlan:
    """Replicas that run model_server.py."""

    def replica(called: str, port: int) -> Replica:
        return Replica(called, (sys.executable, str(PROGRAM), str(port)), {"NAME": name})

    return ServingPlan(replica, port=8080, health="/health", **{"grace": 1.0, **options})


class Models:
    """A dialect: a deployment's plan is looked up; what has settled is kept."""

    def __init__(self, plans: Mapping[str, ServingPlan | Exception]) -> None:
        self.plans = plans
        self.settled_ones: list[tuple[str, ServingState]] = []

    def stage(self, deployment_id: str, context: JobContext) -> ServingPlan:
        plan = self.plans[deployment_id]
        if isinstance(plan, Exception):
            raise plan
        return plan

    def settle(self, deployment: Deployment) -> None:
        self.settled_ones.append((deployment.id, deployment.state))


@asynccontextmanager
async def serving(folder: Path, models: Models) -> AsyncIterator[Deployments]:
    records = Records(folder / "records.db")
    engine = JobQueue(folder / "jobs", records, cores=2)
    await engine.start({"cloud": Cloud()})
    running = Deployments(folder / "deployments", records, engine)
    running.start({"cloud": models})
    try:
        yield running
    finally:
        await running.close()
        await engine.close()
        records.close()


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(100):
            await test()

    asyncio.run(limited())


async def until(true: Callable[[], Any]) -> None:
    while not true():
        await asyncio.sleep(0.01)


async def ready(here: Deployments, *names: str) -> None:
    for name in names:
        deployment = here.get(name)
        while deployment.state is ServingState.STARTING:
            deployment = await here.wait_for_change(deployment, 10)


async def ask(here: Deployments, deployment: str | None = None, **wish: Any) -> Any:
    """What the model answers to a wish."""
    request = HttpRequest("POST", "/predict", json.dumps(wish).encode())
    name, response = await here.send(EP, request, deployment, wait=60)
    return json.loads(response.body) | {"status": response.status, "deployment": name}


async def process_of(answer: Mapping[str, Any], folder: Path) -> int:
    """The process id, on this machine, of the replica that gave an answer; folder: of serving()."""
    job = f"{answer['deployment']}/{answer['replica']}"
    own = str(folder / "deployments" / job)
    return await asyncio.to_thread(outside_of, folder / "jobs", job, own, answer["pid"])


def test_a_deployment_answers_and_each_request_is_on_record(tmp_path: Path) -> None:
    async def test() -> None:
        models = Models({"blue": served()})
        async with serving(tmp_path, models) as here:
            here.deploy("cloud", EP, "blue")
            with pytest.raises(Unanswered, match="traffic"):
                await ask(here)
            here.set_traffic(EP, {"blue": 100})
            assert (await ask(here, say=1))["say"] == 1  # waits until the replica is ready
            assert (await ask(here, status=418))["status"] == 418
            assert models.settled_ones == [("blue", ServingState.READY)]
            figures = here.figures("blue")
            assert (figures.requests, figures.refused, figures.replicas) == (2, 1, 1)
            assert 0 < figures.median <= figures.p99
            with pytest.raises(EngineError, match="already"):
                here.deploy("cloud", EP, "blue")
            with pytest.raises(EngineError, match="1 to 16"):
                here.deploy("cloud", EP, "green", minimum=3, maximum=2)
            with pytest.raises(NoSuchDeployment):
                await ask(here, "green")
        lines = (tmp_path / "deployments/blue/requests.jsonl").read_text().splitlines()
        assert [json.loads(line)["status"] for line in lines] == [200, 418]

    run(test)


def test_traffic_is_split_by_weight_and_moves_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        models = Models({"blue": served("blue"), "green": served("green")})
        async with serving(tmp_path, models) as here:
            for name in ("blue", "green"):
                here.deploy("cloud", EP, name)
            here.set_traffic(EP, {"blue": 75, "green": 25, "none": 0})
            split = Counter([(await ask(here))["name"] for _ in range(300)])
            assert split.keys() == {"blue", "green"}
            assert 40 < split["green"] < 115  # of 300, 25 %: six standard deviations
            here.set_traffic(EP, {"green": 100})
            assert {(await ask(here))["name"] for _ in range(20)} == {"green"}
            assert (await ask(here, "blue"))["name"] == "blue"  # asked for by name

    run(test)


def test_a_replica_that_ends_is_replaced_and_its_request_is_sent_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path, Models({"blue": served()})) as here:
            here.deploy("cloud", EP, "blue", minimum=2, maximum=2)
            here.set_traffic(EP, {"blue": 1})
            await until(lambda: "blue" in here._runners and here.figures("blue").replicas == 2)
            victim = await ask(here)
            process = await process_of(victim, tmp_path)
            waiting = [asyncio.create_task(ask(here, wait=0.5)) for _ in range(6)]
            await until(lambda: here.figures("blue").active == 6)
            os.kill(process, signal.SIGKILL)
            replicas = {(await each)["replica"] for each in waiting}
            assert victim["replica"] not in replicas
            await until(lambda: here.figures("blue").replicas == 2)
            figures = here.figures("blue")
            assert (figures.failed, figures.restarts) == (0, 1)
            assert figures.resent == 3
            with pytest.raises(Unanswered, match="one after the other"):
                await ask(here, end=1)  # it is not sent to replicas for ever
            assert (await ask(here, say=2))["say"] == 2

    run(test)


def test_a_model_that_never_starts_fails_with_the_end_of_its_log(tmp_path: Path) -> None:
    async def test() -> None:
        broken = (sys.executable, "-c", "raise SystemExit('no weights')")
        plans: dict[str, ServingPlan | Exception] = {
            "broken": ServingPlan(lambda name, _: Replica(name, broken, {}), 8080, "/"),
            "missing": ServingPlan(lambda name, _: Replica(name, ("/no/such",), {}), 8080, "/"),
            "late": served(start_seconds=0.0),
            "refused": JobRefused("the bucket has no model"),
            "fault": ZeroDivisionError("in the dialect"),
        }
        async with serving(tmp_path, Models(plans)) as here:
            for name in plans:
                here.deploy("cloud", EP, name)
            await ready(here, *plans)
            assert {here.get(name).state for name in plans} == {ServingState.FAILED}
            assert "no weights" in here.get("broken").message
            assert "/no/such" in here.get("missing").message
            assert "not ready in time" in here.get("late").message
            assert here.get("refused").message == "the bucket has no model"
            assert "made a mistake" in here.get("fault").message
            assert list(here.logs("late")) == ["replica-1"]
            with pytest.raises(Unanswered, match="failed"):
                await ask(here, "broken")
            assert sorted(here.logs("broken")) == ["replica-1", "replica-2", "replica-3"]

    run(test)


def test_replicas_are_added_under_load_and_taken_away_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_cloud.engine.serving.autoscaler.GROW", 0.2)
    monkeypatch.setattr("local_cloud.engine.serving.autoscaler.SHRINK", 0.6)
    monkeypatch.setattr("local_cloud.engine.serving.deployment_runner.PERIOD", 0.1)

    async def test() -> None:
        async with serving(tmp_path, Models({"blue": served()})) as here:
            here.deploy("cloud", EP, "blue", minimum=1, maximum=3)
            here.set_traffic(EP, {"blue": 1})
            await ready(here, "blue")
            loading = True

            async def client() -> None:
                while loading:
                    assert (await ask(here, wait=0.05))["status"] == 200

            clients = [asyncio.create_task(client()) for _ in range(9)]
            await until(lambda: here.figures("blue").replicas == 3)
            loading = False
            await asyncio.gather(*clients)
            await until(lambda: here.figures("blue").replicas == 1)
            assert here.figures("blue").failed == 0
            assert here.figures("blue").restarts == 0
            (rental,) = Rentals(here._records)  # what the bill is made of
            assert max(span.times for span in rental.spans) == 3 and rental.times == 1

    run(test)


def test_a_deployment_is_drained_before_it_ends(tmp_path: Path) -> None:
    async def test() -> None:
        models = Models({"blue": served("blue"), "green": served("green")})
        async with serving(tmp_path, models) as here:
            here.deploy("cloud", EP, "blue")
            here.deploy("cloud", EP, "green")
            here.set_traffic(EP, {"blue": 100})
            answer = await ask(here)
            process = await process_of(answer, tmp_path)
            slow = asyncio.create_task(ask(here, wait=0.7))
            await until(lambda: here.figures("blue").active == 1)
            here.set_traffic(EP, {"green": 100})
            here.remove("blue")
            assert (await ask(here))["name"] == "green"
            assert (await slow)["replica"] == answer["replica"]
            await until(lambda: not psutil.pid_exists(process))
            await until(lambda: not (tmp_path / "deployments/blue").exists())
            with pytest.raises(NoSuchDeployment):
                here.get("blue")

    run(test)


def test_a_deployment_hands_over_in_one_transaction(tmp_path: Path) -> None:
    async def test() -> None:
        models = Models({"blue": served("blue"), "green": served("green")})
        async with serving(tmp_path, models) as here:
            here.deploy("cloud", EP, "blue")
            here.deploy("cloud", EP, "green")
            here.set_traffic(EP, {"blue": 1.5})
            await ready(here, "blue", "green")
            with here._records.transaction():
                here.set_traffic(EP, {"green": 0.5})
                here.remove("blue")
            assert here.traffic(EP) == {"green": 0.5}
            assert here.is_ending("blue")
            assert (await ask(here))["name"] == "green"
            await until(lambda: not here.is_ending("blue"))

    run(test)


def test_deployments_and_traffic_are_there_after_a_restart(tmp_path: Path) -> None:
    async def test() -> None:
        models = Models({"blue": served(), "bad": JobRefused("no")})
        async with serving(tmp_path, models) as here:
            here.deploy("cloud", EP, "blue", minimum=1, maximum=2)
            here.deploy("cloud", EP, "bad")
            here.set_traffic(EP, {"blue": 100})
            first = await process_of(await ask(here), tmp_path)
            await ready(here, "bad")
            here.scale("blue", 2, 2)
        assert not psutil.pid_exists(first)
        async with serving(tmp_path, models) as here:
            assert await process_of(await ask(here), tmp_path) != first
            assert here.get("blue").minimum == 2
            assert here.figures("blue").requests == 2
            assert here.get("bad").state is ServingState.FAILED
            await until(lambda: here.figures("blue").replicas == 2)

    run(test)


@pytest.mark.slow
def test_no_request_is_lost_while_replicas_are_killed_and_traffic_moves(tmp_path: Path) -> None:
    async def test() -> None:
        models = Models({"blue": served("blue"), "green": served("green")})
        async with serving(tmp_path, models) as here:
            here.deploy("cloud", EP, "blue", minimum=2, maximum=2)
            here.deploy("cloud", EP, "green", minimum=2, maximum=2)
            here.set_traffic(EP, {"blue": 100})
            answers, loading = Counter[str](), True

            async def client() -> None:
                while loading:
                    answer = await ask(here)
                    assert answer["status"] == 200
                    answers[answer["name"]] += 1

            clients = [asyncio.create_task(client()) for _ in range(8)]
            for second in range(20):
                os.kill(await process_of(await ask(here), tmp_path), signal.SIGKILL)
                here.set_traffic(EP, {"blue": 100 - 5 * second, "green": 5 * second})
                await asyncio.sleep(1)
            here.remove("blue")
            await asyncio.sleep(1)
            loading = False
            await asyncio.gather(*clients)
            assert answers["blue"] > 0 < answers["green"]
            assert here.figures("green").failed == 0

    run(test)
