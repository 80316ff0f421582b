"""A deployment while the server runs: its replicas, and the requests that they are sent.

A replica that ends is replaced: at once if it has been ready, else after a pause that doubles. A
request goes to the ready replica with the fewest; one that its replica did not answer because it
ended is sent to another. While no replica is ready requests wait.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from local_cloud.disk_errors import say
from local_cloud.engine.isolation.network import Network
from local_cloud.engine.logs import job_files
from local_cloud.engine.processes.replica import ReplicaContext
from local_cloud.engine.serving.autoscaler import Autoscaler
from local_cloud.engine.serving.deployment_replica import ServedReplica
from local_cloud.engine.serving.http_client import HttpRequest, HttpResponse, Lost, TooLong
from local_cloud.engine.serving.request_log import RequestLog
from local_cloud.engine.serving.spec import (
    Deployment,
    Figures,
    ServingPlan,
    ServingState,
    Unanswered,
)
from local_cloud.engine.spec import EngineError
from local_cloud.store.errors import StoreError
from local_cloud.store.records import NOT_WRITTEN

PERIOD = 0.5  # seconds between two looks at the load
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 10.0  # seconds before a replica that was never ready runs again
TRIES = 3  # of a deployment none of whose replicas was ever ready
SENDS = 6  # to as many replicas a request is sent, each of which ends while it has it
FIRST_LOSS = 0.05  # seconds, doubled each time, for the end of a replica that has lost a request
DRAIN = 60.0  # seconds for the requests that a replica has when it is to end
LOST_GRACE = 10.0  # seconds between SIGTERM and SIGKILL, at most, when the server ends
KEPT = 1000  # latencies
LONGEST_ERROR = 1 << 16  # bytes of an error's body that is searched for more than the secret
LATE = "was not ready in time"  # in the message of a deployment that failed so


class Moved(Exception):
    """The deployment is being removed: the request may go to another one of the endpoint."""


class DeploymentRunner:
    """Keeps a deployment's replicas running until it is closed."""

    def __init__(
        self,
        deployment: Deployment,
        context: ReplicaContext,
        *,
        stage: Callable[[], Awaitable[ServingPlan]],
        network: Callable[[ServingPlan], Network],
        guard: Any,
        settle: Callable[[ServingState, str], None],
        resize: Callable[[int], None],
        figures: Figures,
    ) -> None:
        """stage: brings the model; network: a new one for a replica; guard: the reaper.

        settle: is called with READY or FAILED, once; resize: with the number of replicas that
        there are to be; figures: those of an earlier server.
        """
        self.id = deployment.id
        self._context, self._stage, self._network, self._guard = context, stage, network, guard
        self._settle, self._resize = settle, resize
        self._load = Autoscaler(deployment.minimum, deployment.maximum, time.monotonic())
        self._wanted = 0
        self._want(deployment.minimum)
        self._replicas: dict[ServedReplica, asyncio.Task[None]] = {}
        self._started = 0  # replicas, ever; the next one's name
        self._changed = asyncio.Event()  # set, and replaced, when a replica becomes usable or ends
        self._failures = 0  # replicas that ended before they were ready, one after the other
        self._not_before = 0.0
        self._state = ServingState.STARTING
        self._closing = False
        self._plan: ServingPlan | None = None
        self._counts: dict[str, int] = figures.document()
        self.requests = RequestLog(context.folder)
        self._latencies: deque[float] = deque(maxlen=KEPT)
        self._task = asyncio.create_task(self._supervise())
        self._task.add_done_callback(self._check_supervision)

    # ---- requests -------------------------------------------------------------------------------
    async def send(self, request: HttpRequest, deadline: float) -> HttpResponse:
        """Return a replica's response; Unanswered if there is none, Moved if it may go elsewhere.

        deadline: on the clock of time.monotonic(); until then the request waits for a replica.
        """
        begun = time.monotonic()
        self._load.begin(begun)
        status = 500
        try:
            response = await self._send_to_any(request, deadline)
            status = response.status
            return self._mask(response)
        except Moved:
            status = 0  # it counts where it goes
            raise
        finally:
            now = time.monotonic()
            self._load.end(now)
            if status:
                self._count(status, now - begun)
                self.requests.write(time.time(), now - begun, status=status, path=request.path)

    def _mask(self, response: HttpResponse) -> HttpResponse:
        """Return a response in which nobody reads the secret: a model may answer with anything."""
        hidden = self._context.hidden
        is_error = response.status >= 400 and len(response.body) <= LONGEST_ERROR
        mask = job_files.mask_bytes if is_error else job_files.hide
        headers = tuple((name, job_files.mask(value, hidden)) for name, value in response.headers)
        return HttpResponse(response.status, mask(response.body, hidden), headers)

    async def _send_to_any(self, request: HttpRequest, deadline: float) -> HttpResponse:
        for tried in range(SENDS):
            replica = await self._free_replica(deadline)
            try:
                return await replica.send(request)
            except Lost:
                self._counts["resent"] += 1
                await replica.wait_for_end(FIRST_LOSS * 2**tried)  # so that it is not chosen again
            except TimeoutError:
                raise Unanswered(f"replica {replica.name} did not answer in time") from None
            except TooLong as problem:
                raise Unanswered(f"replica {replica.name}: {problem}") from None
        raise Unanswered(f"{SENDS} replicas ended, one after the other, while they had the request")

    async def _free_replica(self, deadline: float) -> ServedReplica:
        while True:
            usable = [each for each in self._replicas if each.usable]
            if usable:
                return min(usable, key=lambda each: each.active)
            if self._closing:
                raise Moved
            if self._state is ServingState.FAILED:
                raise Unanswered("the deployment has failed; its replicas' logs say why")
            changed = self._changed
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await changed.wait()
            except TimeoutError:
                raise Unanswered("no replica became ready in time") from None

    def _count(self, status: int, seconds: float) -> None:
        self._latencies.append(seconds)
        self._counts["requests"] += 1
        if status >= 500:
            self._counts["failed"] += 1
        elif status >= 400:
            self._counts["refused"] += 1

    def figures(self) -> Figures:
        """Return the counts, and how the deployment stands."""
        ordered = sorted(self._latencies) or [0.0]
        return Figures(
            **self._counts,
            replicas=sum(each.usable for each in self._replicas),
            active=self._load.active,
            median=ordered[len(ordered) // 2],
            p99=ordered[int(len(ordered) * 0.99)],
        )

    def scale(self, minimum: int, maximum: int) -> None:
        """Keep the number of replicas between these from now on."""
        self._load.minimum, self._load.maximum = minimum, maximum
        self._want(max(minimum, min(self._wanted, maximum)))
        self._wake()

    def _want(self, count: int) -> None:
        """Have so many replicas from now on."""
        if count != self._wanted:
            self._wanted = count
            self._resize(count)

    # ---- replicas -------------------------------------------------------------------------------
    async def _supervise(self) -> None:
        try:
            self._plan = await self._stage()
        except (EngineError, StoreError, *NOT_WRITTEN) as problem:
            self.fail(say(problem))
            return
        while not self._closing and self._state is not ServingState.FAILED:
            changed = self._changed
            self._adjust(self._plan)
            try:
                async with asyncio.timeout(PERIOD):
                    await changed.wait()
            except TimeoutError:
                continue

    def _check_supervision(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (problem := task.exception()):
            # A fault in this program; the deployment must not seem to start for ever.
            logging.getLogger(__name__).error("deployment %s", self.id, exc_info=problem)
            self.fail(f"The local cloud made a mistake ({problem!r}); its log has more.")

    def _adjust(self, plan: ServingPlan) -> None:
        """Start the replicas that are missing, and end those that are too many."""
        now = time.monotonic()
        staying = [each for each in self._replicas if not each.leaving]
        if usable := sum(each.usable for each in staying):
            starting = usable < self._wanted and not self._failures
            self._want(self._load.choose_replicas(now, self._wanted, starting))
        if now >= self._not_before:
            for _ in range(self._wanted - len(staying)):
                self._start(plan)
        surplus = len(staying) - self._wanted
        for each in sorted(staying, key=lambda one: (one.usable, one.active))[: max(0, surplus)]:
            self._leave(each, self._drain(each))

    def _leave(self, replica: ServedReplica, leaving: Any) -> None:
        replica.leaving = True
        task = asyncio.create_task(leaving)
        task.add_done_callback(_log_problem)

    async def _drain(self, replica: ServedReplica) -> None:
        """End a replica when it has answered what it has."""
        end = time.monotonic() + DRAIN
        while replica.active and time.monotonic() < end:
            await asyncio.sleep(0.02)
        replica.stop()

    def _start(self, plan: ServingPlan) -> None:
        self._started += 1
        name = f"replica-{self._started}"
        replica = ServedReplica(
            name, plan, self._context, network=self._network(plan), guard=self._guard
        )
        task = asyncio.create_task(replica.live(self._wake))
        self._replicas[replica] = task
        task.add_done_callback(functools.partial(self._handle_end, replica))

    def _wake(self) -> None:
        """Wake those that wait: a replica has become usable, or is no longer."""
        if any(each.usable for each in self._replicas):
            self._failures = 0
            if self._state is ServingState.STARTING:
                self._state = ServingState.READY
                self._settle(ServingState.READY, "")
        self._changed.set()
        self._changed = asyncio.Event()

    def _handle_end(self, replica: ServedReplica, task: asyncio.Task[None]) -> None:
        del self._replicas[replica]
        problem = None if task.cancelled() else task.exception()
        if not self._closing and not replica.leaving:
            self._counts["restarts"] += 1
            if not replica.was_ready:
                self._failures += TRIES if replica.late else 1  # waiting again would take as long
                pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**self._failures)
                self._not_before = time.monotonic() + pause
                if self._state is ServingState.STARTING and self._failures >= TRIES:
                    self.fail(_reason(replica, problem))
        if problem and not isinstance(problem, EngineError | OSError):
            logging.getLogger(__name__).error("deployment %s", self.id, exc_info=problem)
        self._wake()

    def fail(self, message: str) -> None:
        """End all replicas, for good."""
        self._state = ServingState.FAILED
        for each in self._replicas:
            each.leaving = True
            each.stop()
        self._settle(ServingState.FAILED, message)
        self._wake()

    async def close(self, drain: bool) -> None:
        """End all replicas; drain: once they have answered what they have."""
        self._closing = True
        self._wake()
        await asyncio.wait([self._task])
        for each in list(self._replicas):
            each.leaving = True
            if drain:
                await self._drain(each)
            else:
                each.grace = min(each.grace, LOST_GRACE)
            each.stop()
        if self._replicas:
            await asyncio.wait(list(self._replicas.values()))


def _reason(replica: ServedReplica, problem: BaseException | None) -> str:
    if problem:
        return f"Replica {replica.name} cannot be started: {problem}"
    how = LATE if replica.late else f"ended with code {replica.code}"
    return "\n".join(
        [f"Replica {replica.name} {how}, and none was ready before.", *replica.read_last_lines()]
    )


def _log_problem(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (problem := task.exception()):
        logging.getLogger(__name__).error("a served replica", exc_info=problem)
