"""Serving: deployments of models, the endpoints whose requests they share, and their records.

    serving.deploy("cloud", "endpoint-1", "blue", minimum=1, maximum=3)  # recorded, starts replicas
    ... the dialect's settle(deployment) is called when it is READY, or FAILED ...
    serving.set_traffic("endpoint-1", {"blue": 90, "green": 10})         # recorded, at once
    deployment_id, response = await serving.send("endpoint-1", HttpRequest("POST", path, body))
    await serving.remove("blue")                                         # drained, then ended

An endpoint is no more than a name with weights. Everything is on record before it happens: after
a restart of the server, however it ended, the same deployments run with the same traffic.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import random
import time
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from local_cloud.client.failures import DEPLOYMENT
from local_cloud.engine.isolation import network
from local_cloud.engine.jobs import job_space
from local_cloud.engine.jobs.attempt_runner import check_name
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.jobs.rental_records import Rentals
from local_cloud.engine.logs import log_timestamps
from local_cloud.engine.processes.replica import ReplicaContext
from local_cloud.engine.rental import Machines, RentedResource
from local_cloud.engine.serving.deployment_runner import DeploymentRunner, Moved
from local_cloud.engine.serving.http_client import HttpRequest, HttpResponse
from local_cloud.engine.serving.spec import (
    Deployment,
    Figures,
    NoSuchDeployment,
    ServingDialect,
    ServingPlan,
    ServingState,
    Unanswered,
)
from local_cloud.engine.spec import EngineError
from local_cloud.store import clock, trees
from local_cloud.store.records import NOT_WRITTEN, Records

KIND, TRAFFIC, FIGURES = "deployment", "traffic", "deployment-figures"
MOST = 16  # replicas of a deployment, each a process here
WAIT = 60.0  # seconds for which a request waits while no replica is ready
PERIOD = 5.0  # seconds between two times at which the figures are recorded


class Deployments:
    """The deployments of this machine. All methods are called on the loop that called start()."""

    def __init__(self, folder: Path, records: Records, engine: JobQueue) -> None:
        """folder: where logs and environments of deployments are; engine: what runs replicas."""
        self._folder, self._records, self._engine = folder.resolve(), records, engine
        self._rentals = Rentals(records)
        self._dialects: Mapping[str, ServingDialect] = {}
        self._deployments: dict[str, Deployment] = {}
        self._runners: dict[str, DeploymentRunner] = {}
        self._traffic: dict[str, dict[str, float]] = {}
        self._changed: dict[str, asyncio.Event] = {}
        self._removing: set[asyncio.Task[None]] = set()
        self._ending: set[str] = set()
        self._noting: asyncio.Task[None] | None = None

    def start(self, dialects: Mapping[str, ServingDialect]) -> None:
        """Run what is on record; the engine has been started."""
        self._dialects = dialects
        for name, document in self._records.list(TRAFFIC):
            with self._records.name_record_in_errors(TRAFFIC, name):
                self._traffic[name] = document["weights"]
        for name, document in self._records.list(KIND):
            with self._records.name_record_in_errors(KIND, name):
                self._deployments[name] = Deployment.of(document)
        self._remove_leftovers()
        left = [log for name in self._deployments for log in self.logs(name).values()]
        self._spawn(log_timestamps.recover(left, self._engine.hidden))
        for deployment in self._deployments.values():
            if deployment.state is not ServingState.FAILED:
                self._run(deployment)
        self._noting = asyncio.create_task(self._note())

    def _remove_leftovers(self) -> None:
        """Remove the folders of deployments whose end an earlier server did not live to see."""
        for folder in self._folder.glob("*"):
            if folder.name not in self._deployments:
                trees.remove(folder)

    async def close(self) -> None:
        """End all replicas; the next start runs them again."""
        if self._noting:
            self._noting.cancel()
        self._write_figures()
        closing = [runner.close(drain=False) for runner in self._runners.values()]
        await asyncio.gather(*closing, *self._removing)
        self._runners.clear()

    # ---- deployments ----------------------------------------------------------------------------
    def deploy(
        self,
        dialect: str,
        endpoint: str,
        deployment_id: str,
        *,
        minimum: int = 1,
        maximum: int = 1,
        rented: RentedResource | None = None,
    ) -> Deployment:
        """Record a deployment and start its replicas; it gets no traffic yet.

        rented: what a replica's machine is on the real service, for the bill. Inside a transaction
        of the records the replicas start at its end.
        """
        check_name(deployment_id)
        if deployment_id in self._deployments:
            raise EngineError(f"there is a deployment {deployment_id} already: take another name")
        if deployment_id in self._ending:
            raise EngineError(f"the last deployment {deployment_id} still ends: try again soon")
        _check_size(minimum, maximum)
        state = ServingState.STARTING
        made = Deployment(
            deployment_id, dialect, endpoint, minimum, maximum, state, created=time.time()
        )

        def begin() -> None:
            self._deployments[made.id] = made
            self._run(made)

        unknown = RentedResource(dialect, "deployment", endpoint, (Machines(""),))
        with self._records.transaction():
            self._engine.failures.submit(DEPLOYMENT, dialect, made.id)
            self._records.put(KIND, made.id, made.document())
            self._rentals.open(made.id, rented or unknown, minimum)
            self._records.when_written(begin)
        return made

    def get(self, deployment_id: str) -> Deployment:
        """Return the deployment as it stands; NoSuchDeployment if there is none."""
        try:
            return self._deployments[deployment_id]
        except KeyError:
            raise NoSuchDeployment(
                f"there is no deployment {deployment_id}: it was removed, or never made"
            ) from None

    def deployments(self, endpoint: str | None = None) -> Iterator[Deployment]:
        """Yield all deployments, or those of an endpoint."""
        for each in list(self._deployments.values()):
            if endpoint in (None, each.endpoint):
                yield each

    async def wait_for_change(self, deployment: Deployment, timeout: float) -> Deployment:
        """Return the deployment as soon as its state is another, or after timeout seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self.get(deployment.id).state == deployment.state:
                    event = self._changed.setdefault(deployment.id, asyncio.Event())
                    await event.wait()
        return self.get(deployment.id)

    def scale(self, deployment_id: str, minimum: int, maximum: int) -> None:
        """Keep the number of replicas between these."""
        _check_size(minimum, maximum)
        made = replace(self.get(deployment_id), minimum=minimum, maximum=maximum)

        def see() -> None:
            self._deployments[made.id] = made
            if runner := self._runners.get(made.id):
                runner.scale(minimum, maximum)

        self._records.put(KIND, made.id, made.document())
        self._records.when_written(see)

    def remove(self, deployment_id: str) -> None:
        """Forget a deployment: no new request, then the end of its replicas and its folder."""
        endpoint = self.get(deployment_id).endpoint
        # As it is on record: what this transaction has changed is there, and not in memory yet.
        recorded = (self._records.get(TRAFFIC, endpoint) or {}).get("weights", {})
        weights = {name: weight for name, weight in recorded.items() if name != deployment_id}

        def forget() -> None:
            self._deployments.pop(deployment_id, None)
            self._wake(deployment_id)
            self._ending.add(deployment_id)
            self._spawn(self._end(deployment_id, self._runners.pop(deployment_id, None)))

        with self._records.transaction():
            self.set_traffic(endpoint, weights)
            self._records.delete(KIND, deployment_id)
            self._records.delete(FIGURES, deployment_id)
            self._engine.failures.forget(deployment_id)
            self._rentals.close(deployment_id)
            self._records.when_written(forget)

    async def _end(self, deployment_id: str, runner: DeploymentRunner | None) -> None:
        if runner:
            await runner.close(drain=True)
        await asyncio.to_thread(trees.remove, self._folder / deployment_id)
        self._ending.discard(deployment_id)

    def is_ending(self, deployment_id: str) -> bool:
        """Return whether a deployment that was removed still has replicas, or a folder."""
        return deployment_id in self._ending

    # ---- traffic and requests -------------------------------------------------------------------
    def traffic(self, endpoint: str) -> dict[str, float]:
        """Return the weights of an endpoint's deployments, by id."""
        return dict(self._traffic.get(endpoint, {}))

    def set_traffic(self, endpoint: str, weights: Mapping[str, float]) -> None:
        """Share an endpoint's requests out by these weights, from the next one on."""
        known = {name: weight for name, weight in weights.items() if weight > 0}

        def see() -> None:
            self._traffic[endpoint] = known

        if known:
            self._records.put(TRAFFIC, endpoint, {"weights": known})
        else:
            self._records.delete(TRAFFIC, endpoint)
        self._records.when_written(see)

    def choose(self, endpoint: str) -> str:
        """Return the deployment that gets the next request, by weight; Unanswered if none does."""
        weights = self._traffic.get(endpoint)
        if not weights:
            raise Unanswered("no deployment of this endpoint gets traffic")
        if len(weights) == 1:
            return next(iter(weights))
        return random.choices(list(weights), list(weights.values()))[0]

    async def send(
        self,
        endpoint: str,
        request: HttpRequest,
        deployment_id: str | None = None,
        *,
        wait: float = WAIT,
    ) -> tuple[str, HttpResponse]:
        """Return the response of one of the endpoint's deployments, and which one it was.

        deployment_id: the one that is asked, whatever its weight. wait: seconds for which the
        request waits while no replica is ready. Unanswered: no replica answered in time.
        """
        deadline = time.monotonic() + wait
        while True:
            chosen = deployment_id or self.choose(endpoint)
            if self.get(chosen).endpoint != endpoint:
                raise NoSuchDeployment(f"the endpoint {endpoint} has no deployment {chosen}")
            if not (runner := self._runners.get(chosen)):
                raise Unanswered(f"the deployment {chosen} has failed: its replicas' logs say why")
            try:
                return chosen, await runner.send(request, deadline)
            except Moved:
                if deployment_id:
                    raise Unanswered(f"the deployment {chosen} was removed") from None

    def figures(self, deployment_id: str) -> Figures:
        """Return what a deployment has done, and how it stands."""
        self.get(deployment_id)
        if runner := self._runners.get(deployment_id):
            return runner.figures()
        return self._read_figures(deployment_id)

    def logs(self, deployment_id: str) -> dict[str, Path]:
        """Return the replicas' logs that are there so far, by the name of the replica."""
        logs = (self._folder / self.get(deployment_id).id).glob("*.log")
        return {path.name.removesuffix(".log"): path for path in sorted(logs)}

    # ---- inside ---------------------------------------------------------------------------------
    def _run(self, deployment: Deployment) -> None:
        folder = self._folder / deployment.id
        context = self._engine.replica_context(deployment.id, folder, deployment.maximum)
        self._runners[deployment.id] = DeploymentRunner(
            deployment,
            context,
            stage=functools.partial(self._stage, deployment, context),
            network=self._network,
            guard=self._engine.reaper,
            settle=functools.partial(self._settle, deployment.id),
            resize=functools.partial(self._resize, deployment.id),
            figures=self._read_figures(deployment.id),
        )

    async def _stage(self, deployment: Deployment, context: ReplicaContext) -> ServingPlan:
        await self._engine.make_environment(context)
        await asyncio.to_thread(network.available)  # asked now, so that no replica waits for it
        job_context = context.of_job(self._engine.ports.take)
        stage = self._dialects[deployment.dialect].stage
        plan = await asyncio.to_thread(stage, deployment.id, job_context)
        return self._engine.failures.stage_deployment(plan, deployment.id)

    def _network(self, plan: ServingPlan) -> network.Network:
        if network.available():
            return network.OwnNetwork(plan.port, plan.outside)
        return network.SharedNetwork(self._engine.ports)

    def _settle(self, deployment_id: str, state: ServingState, message: str) -> None:
        old = self._deployments.get(deployment_id)
        if old is None:  # it has been removed meanwhile
            return
        is_ready = state is ServingState.READY
        ready = old.ready or (clock.now_after(old.created) if is_ready else None)
        made = replace(old, state=state, message=message, ready=ready)
        self._deployments[made.id] = made
        try:
            self._records.put(KIND, made.id, made.document())
            if state is ServingState.FAILED:  # its machines are given back
                self._rentals.close(made.id)
            self._dialects[made.dialect].settle(made)
        except NOT_WRITTEN as problem:
            logging.getLogger(__name__).error("deployment %s: %s", made.id, problem)
        self._wake(made.id)

    def _resize(self, deployment_id: str, replicas: int) -> None:
        """Note that a deployment has so many machines from now on."""
        try:
            self._rentals.change(deployment_id, replicas)
        except NOT_WRITTEN as problem:
            logging.getLogger(__name__).error("the bill of %s: %s", deployment_id, problem)

    def _wake(self, deployment_id: str) -> None:
        if event := self._changed.pop(deployment_id, None):
            event.set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._removing.add(task)
        task.add_done_callback(self._removing.discard)

    def _read_figures(self, deployment_id: str) -> Figures:
        return Figures(**(self._records.get(FIGURES, deployment_id) or {}))

    async def _note(self) -> None:
        """Record the figures now and then, and end what writes too much."""
        while True:
            await asyncio.sleep(PERIOD)
            self._write_figures()
            for name, runner in list(self._runners.items()):
                folder, space = self._folder / name, self._engine.space
                if why := await asyncio.to_thread(job_space.excess, folder, space):
                    runner.fail(f"The deployment had written {why}, and was stopped.")

    def _write_figures(self) -> None:
        for name, runner in self._runners.items():
            with contextlib.suppress(*NOT_WRITTEN):  # tried again, with what has come meanwhile
                runner.requests.flush()
                figures = runner.figures().document()
                if figures != self._read_figures(name).document():
                    self._records.put(FIGURES, name, figures)


def _check_size(minimum: int, maximum: int) -> None:
    if not 1 <= minimum <= maximum <= MOST:
        raise EngineError(
            f"{minimum} to {maximum} replicas: give 1 to {MOST}, the smaller number first"
        )
