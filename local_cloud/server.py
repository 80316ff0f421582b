"""The server process: every dialect on one port of loopback, behind one guard.

`python -m local_cloud.server FOLDER` runs it in the foreground; `local_cloud.start()` starts it so.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from local_cloud import iam, logs, resourcemanager, s3, sagemaker, vertex
from local_cloud.answers import handlers
from local_cloud.aws.door import Door
from local_cloud.engine.engine import Engine
from local_cloud.engine.spec import Dialect, EngineError
from local_cloud.engine.studies import Studies
from local_cloud.engine.study import Cloud
from local_cloud.environment import environment
from local_cloud.gcs.routes import routes as gcs_routes
from local_cloud.guard import Guard
from local_cloud.home import Home, identity
from local_cloud.projects import NotingProjects, Projects
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records
from local_cloud.store.space import Space, limit

# Every Python of a job runs it first, so that its SDKs find this local cloud.
IN_JOB = Path(__file__).with_name("in_job.py")


def build(home: Home, port: int) -> Guard:
    """The application: the store and the engine in `home`, and the dialects on top."""
    home.data.mkdir(parents=True, exist_ok=True)
    records = Records(home.data / "records.sqlite")
    space = Space(home.data, limit(os.environ))
    objects = Objects(home.data / "buckets", records, space)
    # A bucket of one cloud is none of the other's.
    s3_records = Records(home.data / "s3.sqlite")
    s3_objects = Objects(home.data / "s3-buckets", s3_records, space)
    projects = Projects(records)
    inside = environment(home, port)
    on_vertex = vertex.Training(records, objects, inside)
    on_sagemaker = sagemaker.Training(records, s3_objects, inside)
    dialects: dict[str, Dialect] = {"vertex": on_vertex, "sagemaker": on_sagemaker}
    engine = Engine(home.data / "jobs", records, dialects, hook=IN_JOB, space=space)
    on_vertex.engine = on_sagemaker.engine = engine
    tuning: dict[str, Cloud] = {"vertex": on_vertex.tuning, "sagemaker": on_sagemaker.tuning}
    studies = Studies(records, engine, tuning)
    on_vertex.tuning.studies = on_sagemaker.tuning.studies = studies
    amazon = Door(
        {"SageMaker": sagemaker.service(on_sagemaker), "Logs_20140328": logs.service(engine)},
        iam.services(),
        s3.storage(s3_objects),
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await engine.start()
        studies.start()
        yield
        await studies.close()
        await engine.close()
        records.close()
        s3_records.close()

    def status(_: Request) -> JSONResponse:
        jobs = Counter(job.state.value for job in engine.jobs())
        buckets = sum(len(list(each.buckets())) for each in (objects, s3_objects))
        facts = {"pid": os.getpid(), "buckets": buckets, "jobs": jobs}
        return JSONResponse(facts | identity())

    async def rehearse(request: Request) -> JSONResponse:
        try:
            replaced = engine.rehearse((await request.json())["epochs"])
        except (ValueError, TypeError, KeyError, EngineError) as problem:
            return JSONResponse({"problem": str(problem)}, 400)
        return JSONResponse({"replaced": replaced})

    def stop(_: Request) -> JSONResponse:
        signal.raise_signal(signal.SIGTERM)
        return JSONResponse({})

    routes = [
        Route("/status", status),
        Route("/rehearse", rehearse, methods=["POST"]),
        Route("/stop", stop, methods=["POST"]),
        *gcs_routes(objects),
        *resourcemanager.routes(projects),
        *vertex.routes(on_vertex),
        *amazon.routes(),
    ]
    answers = {**handlers(home.log), vertex.ApiError: vertex.render}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=answers)
    app.router.redirect_slashes = False  # the services know no such redirection
    return Guard(NotingProjects(app, projects), home.secret(), port)


def listen(port: int | None) -> socket.socket:
    """A socket on loopback: on this port if it is free, else on one that the system picks."""
    for wanted in (port or 0, 0):
        # Said in full, for asyncio turns Nagle off only for what is said to be TCP: with it, each
        # small download waits 40 ms between its headers and its body.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", wanted))
        except OSError:
            listener.close()
            continue
        listener.listen(128)
        return listener
    raise OSError("no free port on 127.0.0.1")


def main(folder: str) -> None:
    """Serve until SIGTERM; leave at once if another server holds the folder."""
    home = Home(Path(folder))
    lock = home.lock(tries=20)
    if lock is None:
        return
    old = home.address().get("port")
    listener = listen(old)
    port = listener.getsockname()[1]
    if old not in (None, port):
        print(f"port {old} is taken; open notebooks have to call activate() again", flush=True)
    home.write_sdk_files()
    home.write_address({"port": port, "pid": os.getpid(), **identity()})
    config = uvicorn.Config(
        build(home, port),
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1])
