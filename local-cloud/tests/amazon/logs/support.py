"""An engine with jobs of a test's own making, and its logs behind a real dispatcher for boto3."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import uvicorn
from starlette.applications import Starlette

from local_cloud.amazon.logs.operations import api
from local_cloud.amazon.protocols.dispatcher import Dispatcher
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.logs.log_timestamps import marks_path
from local_cloud.engine.serving.deployments import Deployments
from local_cloud.engine.spec import Job, JobContext, Plan, State
from local_cloud.store.records import Records

GROUP = "/aws/sagemaker/TrainingJobs"
START = 1_700_000_000  # seconds since the epoch
Written = Sequence[tuple[float, str]]  # seconds after START, and the text written by then


class Cloud:
    """A dialect whose jobs run what a test says."""

    def __init__(self) -> None:
        self.plans: dict[str, Plan] = {}

    def stage(self, job_id: str, context: JobContext) -> Plan:
        return self.plans[job_id]

    def collect(self, job: Job) -> None:
        pass


def ended(folder: Path, job_id: str, **logs_of: Written) -> None:
    """Put an ended job there; logs_of: `algo_1` names the log of algo-1."""
    records = Records(folder / "records.db")
    turn = len(list(records.list("job"))) + 1
    job = Job(
        job_id,
        "sagemaker",
        len(logs_of),
        State.SUCCEEDED,
        START,
        turn,
        started=START + 0.5,
        ended=START + 99,
    )
    records.put("job", job_id, job.document())
    records.close()
    (folder / "jobs" / job_id).mkdir(parents=True)
    for name, written in logs_of.items():
        log = folder / "jobs" / job_id / f"{name.replace('_', '-')}.log"
        size, marks = 0, []
        with log.open("wb") as file:
            for seconds, text in written:
                size += file.write(text.encode())
                marks.append(f"{START + seconds:.3f} {size}\n")
        marks_path(log).write_text("".join(marks))


class Served:
    """A running engine; `client` is boto3's."""

    def __init__(self, folder: Path) -> None:
        self.cloud = Cloud()
        self.records = Records(folder / "records.db")
        self.engine = JobQueue(folder / "jobs", self.records, cores=4)
        serving = Deployments(folder / "deployments", self.records, self.engine)
        dispatcher = Dispatcher([api(self.engine, serving)])
        self.loop = asyncio.new_event_loop()
        self.listener = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(Starlette(routes=dispatcher.routes()), log_level="warning")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=[self.serve()])
        self.client: Any = boto3.client(
            "logs",
            endpoint_url=f"http://127.0.0.1:{self.listener.getsockname()[1]}/aws",
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
        )

    async def serve(self) -> None:
        await self.engine.start({"sagemaker": self.cloud})
        await self.server.serve([self.listener])
        await self.engine.close()

    def on_loop(self, story: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(story, self.loop).result(30)

    def submit(self, job_id: str, plan: Plan) -> None:
        async def story() -> None:
            self.engine.submit("sagemaker", job_id, len(plan.replicas))

        self.cloud.plans[job_id] = plan
        self.on_loop(story())

    def until_ended(self, job_id: str) -> Job:
        async def story() -> Job:
            job = self.engine.get(job_id)
            while not job.state.ended:
                job = await self.engine.wait_for_change(job, 10)
            return job

        job: Job = self.on_loop(story())
        return job

    def get(self, stream: str, **more: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.get_log_events(
            logGroupName=GROUP, logStreamName=stream, **more
        )
        return answer

    def messages(self, stream: str, **more: Any) -> list[str]:
        return [event["message"] for event in self.get(stream, **more)["events"]]

    def filtered(self, **more: Any) -> list[Mapping[str, Any]]:
        pages = self.client.get_paginator("filter_log_events").paginate(logGroupName=GROUP, **more)
        return [event for page in pages for event in page["events"]]


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """The jobs in this folder, and more that are sent."""
    folder.mkdir(exist_ok=True)
    jobs = Served(folder)
    jobs.thread.start()
    try:
        yield jobs
    finally:
        jobs.server.should_exit = True
        jobs.thread.join()
        jobs.client.close()
        jobs.records.close()
        jobs.loop.close()
