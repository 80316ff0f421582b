"""The server process: every dialect on one port of loopback, behind one guard.

`python -m local_cloud.server FOLDER` runs it in the foreground, as `local_cloud.activate()` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import socket
import sys
import traceback
import weakref
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TextIO

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from local_cloud import BEGAN
from local_cloud.amazon import services as amazon
from local_cloud.billing.ledger import bill
from local_cloud.client.environment import environment
from local_cloud.client.gcloud import write_configuration
from local_cloud.client.home import Home, identity
from local_cloud.console import service as console
from local_cloud.console.site.sessions import Sessions
from local_cloud.disk_errors import ADVICE, disk_error
from local_cloud.engine.rehearsals import failures
from local_cloud.engine.spec import EngineError
from local_cloud.engine.warm.warm_start import ForkServer
from local_cloud.errors import LocalCloudError
from local_cloud.google import services as google
from local_cloud.http import bodies
from local_cloud.http.connections import Connection, JobConnection
from local_cloud.http.fallback_errors import handlers
from local_cloud.http.guard import Guard
from local_cloud.http.log_limit import spare
from local_cloud.images.pulled_images import PulledImages
from local_cloud.platform import Platform
from local_cloud.source import Source
from local_cloud.store import trees
from local_cloud.store.records import NOT_WRITTEN
from local_cloud.store.space import Space, limit

# Every Python of a job runs it first, so that its SDKs find this local cloud.
IN_JOB = Path(__file__).parent / "client" / "in_job.py"

FILES = 8192  # open at once
BACKLOG = 256  # connections that asyncio accepts before it looks at any of them
# Seconds that a connection stays open between requests, as at the services: bq does not connect
# again when the server has closed what it wants to use next.
IDLE = 75
PATIENCE = 2.0  # seconds for which other requests are waited for before a newer server is started


class Door:
    """How the processes of a job reach the server from a network of their own."""

    def __init__(self, port: int) -> None:
        """port: the server's, in every network."""
        self.port = port
        self.server: Server | None = None  # as soon as it is made

    async def admit(self, listener: socket.socket) -> asyncio.Server:
        """Have the server take the connections of this listener too, until it is closed."""
        assert self.server
        return await self.server.admit(listener)


class LocalCloud:
    """The application: the store and the engine in a home, and the dialects on top."""

    def __init__(self, home: Home, port: int) -> None:
        """port: the one that the server listens on."""
        self.home, self.port, self.door = home, port, Door(port)
        self.problem: LocalCloudError | None = None  # why it does not start
        self.sessions = Sessions(home.secret(), port)
        self._source = Source(Path(__file__).parent, BEGAN)
        self._fork_server = ForkServer()  # what has torch imported stays when all else is emptied
        self._lifespan = Starlette(lifespan=self._lives)
        self._open()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to what runs now."""
        app = self._lifespan if scope["type"] == "lifespan" else self._app
        await app(scope, receive, send)

    async def pages(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a browser's request on to the console of what runs now."""
        await self._console(scope, receive, send)

    def _open(self) -> None:
        """Take what is on the disk; nothing runs yet."""
        home = self.home
        home.data.mkdir(parents=True, exist_ok=True)
        self._platform = Platform.of(
            home.data,
            environment(home, self.port),
            Space(home.data, limit(os.environ)),
            hook=IN_JOB,
            hidden=home.secret(),
            base_of=PulledImages(home.images).base_of,
            door=self.door,
            private=(home.folder,),
            fork_server=self._fork_server,
        )
        self._clouds = [google.service(self._platform), amazon.service(self._platform)]
        routes = [
            *(route for cloud in self._clouds for route in cloud.first),
            Route("/status", self._status),
            Route("/bill", self._bill),
            Route("/rehearse", self._rehearse, methods=["POST"]),
            Route("/empty", self._empty, methods=["POST"]),
            Route("/make-way", self._make_way, methods=["POST"]),
            Route("/console-link", self._console_link, methods=["POST"]),
            *(route for cloud in self._clouds for route in cloud.routes),
        ]
        answers = dict(handlers(home.log))
        for cloud in self._clouds:
            answers |= cloud.errors
        app = Starlette(routes=routes, exception_handlers=answers)
        app.router.redirect_slashes = False  # the services know no such redirection
        self._app: ASGIApp = app
        for before in (each for cloud in self._clouds for each in cloud.before):
            self._app = before(self._app)
        self._console = console.app(self._platform, self._app, self.sessions)

    @contextlib.asynccontextmanager
    async def _lives(self, _: Starlette) -> AsyncIterator[None]:
        try:
            await self._platform.start(self._clouds)
        except LocalCloudError as problem:
            self.problem = problem
            raise
        except NOT_WRITTEN as problem:
            self.problem = disk_error(problem)
            raise
        gc.freeze()  # the SDKs' many objects live to the end: looking at them delays requests
        yield
        await self._platform.close()
        await asyncio.to_thread(self._fork_server.close)

    def _status(self, _: Request) -> JSONResponse:
        platform = self._platform
        jobs = Counter(job.state.value for job in platform.engine.jobs())
        buckets = sum(len(list(each.buckets())) for each in (platform.gs, platform.s3))
        deployments = len(list(platform.serving.deployments()))
        facts = {
            "pid": os.getpid(),
            "buckets": buckets,
            "jobs": jobs,
            "deployments": deployments,  # a model on an endpoint: it bills until it is undeployed
            "isolation": platform.engine.isolation.sentence,
            "code_changed": self._source.has_changed(),
        }
        return JSONResponse(facts | identity())

    async def _make_way(self, _: Request) -> JSONResponse:
        """End if nothing runs, so that the caller can start newer code; else say what runs.

        A job that comes while this server ends waits for the next one.
        """
        server, loop = self.door.server, asyncio.get_running_loop()
        assert server
        end = loop.time() + PATIENCE
        while running := self._count_running(server):
            if [*running] != ["requests"] or loop.time() > end:
                return JSONResponse({"running": running})
            await asyncio.sleep(0.02)
        self._platform.engine.hold()
        server.make_way()
        return JSONResponse({"running": {}})

    def _count_running(self, server: Server) -> dict[str, int]:
        """Return what runs, with the requests that are being answered beside this one."""
        others = len(server.server_state.tasks) - 1
        return self._platform.count_running() | ({"requests": others} if others else {})

    async def _console_link(self, request: Request) -> JSONResponse:
        """Return a code that signs a browser in once: the caller knows the secret.

        `origin`, if it is sent: that of a proxy through which the browser comes.
        """
        try:
            origin = bodies.parse(await bodies.read(request) or b"{}").get("origin", "")
        except (ValueError, AttributeError, bodies.TooLarge) as problem:
            return JSONResponse({"problem": str(problem)}, 400)
        if origin:
            self.sessions.origins.add(str(origin))
        return JSONResponse({"code": self.sessions.link()})

    def _bill(self, _: Request) -> JSONResponse:
        return JSONResponse(bill(self._platform).document())

    async def _rehearse(self, request: Request) -> JSONResponse:
        engine = self._platform.engine
        try:
            wanted = bodies.parse(await bodies.read(request))
            if "failure" in wanted:
                engine.failures.add(failures.parse_failure(wanted))
                return JSONResponse({})
            replaced = engine.rehearse(wanted["epochs"])
            replaced |= not wanted["epochs"] and engine.failures.clear()
        except (ValueError, TypeError, KeyError, EngineError, bodies.TooLarge) as problem:
            return JSONResponse({"problem": str(problem)}, 400)
        return JSONResponse({"replaced": replaced})

    async def _empty(self, _: Request) -> JSONResponse:
        """End all that runs and remove all that is kept, without the second that a start takes."""
        await self._platform.close()
        for folder in self.home.set_data_aside():
            await asyncio.to_thread(trees.remove, folder)
        self._open()
        await self._platform.start(self._clouds)
        return JSONResponse({})


def build(home: Home, port: int) -> Guard:
    """Return the application behind its guard."""
    return with_guard(LocalCloud(home, port))


def with_guard(cloud: LocalCloud) -> Guard:
    """Put the guard before the application."""
    return Guard(
        cloud,
        cloud.home.secret(),
        port=cloud.port,
        console=cloud.pages,
        proxies=cloud.sessions.origins,
    )


def listen(port: int | None) -> socket.socket:
    """Listen on loopback: on this port if it is free, else on one that the system picks."""
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
        listener.listen(BACKLOG)
        return listener
    raise OSError("no free port on 127.0.0.1")


def allow_files() -> None:
    """Raise this process's limit of open files: with 1,024 a few hundred clients are too many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Server(uvicorn.Server):
    """uvicorn's; clients see that it ends before it gives its port up."""

    def __init__(self, config: uvicorn.Config, home: Home, lock: TextIO) -> None:
        """`lock` is the home's, with this process's id in it."""
        super().__init__(config)
        self.home, self.lock = home, lock
        self._of_jobs: weakref.WeakSet[asyncio.Server] = weakref.WeakSet()
        self._makes_way = False

    async def admit(self, listener: socket.socket) -> asyncio.Server:
        """Answer on a listener to which only the processes of a job can connect."""

        def connection() -> JobConnection:
            return JobConnection(
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state
            )

        loop = asyncio.get_running_loop()
        server = await loop.create_server(connection, sock=listener, backlog=BACKLOG)
        self._of_jobs.add(server)
        return server

    def make_way(self) -> None:
        """End, as if by a crash: whoever finds no server may start the next one."""
        self._makes_way = self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the server.

        From here on no client sends anything to the port, which may soon be a stranger's.
        """
        self.home.note_stop()  # by a signal: clients do not start it again by themselves
        with contextlib.suppress(OSError):  # the disk may have become read-only
            self.lock.truncate(0)
        for server in self._of_jobs:
            server.close()
        if self._makes_way:
            self.home.forget_stop()
        await super().shutdown(sockets)


def main(folder: str) -> None:
    """Serve until SIGTERM; leave at once if another server holds the folder."""
    home = Home(Path(folder))
    lock = home.lock(tries=20)
    if lock is None:
        return
    allow_files()
    old = home.address().get("port")
    listener = listen(old)
    port = listener.getsockname()[1]
    if old not in (None, port):
        print(f"port {old} is taken; open notebooks have to call activate() again", flush=True)
        home.forget_secret()  # they may have sent it to whoever has the port
    home.write_sdk_files()
    write_configuration(home, port)
    home.write_address({"port": port, "pid": os.getpid(), **identity()})
    print(os.getpid(), end="", file=lock, flush=True)
    home.forget_stop()
    cloud = LocalCloud(home, port)
    config = uvicorn.Config(
        with_guard(cloud),
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=IDLE,
        http=Connection,
        ws="none",
        backlog=BACKLOG,
    )
    spare("asyncio", "uvicorn.error", "local_cloud.http.connections")
    cloud.door.server = Server(config, home, lock)
    try:
        cloud.door.server.run(sockets=[listener])
    except SystemExit:  # uvicorn's, whose last line does not say why
        if cloud.problem:
            raise cloud.problem from None
        raise


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except LocalCloudError as problem:
        sys.exit(str(problem))  # the last line of the log, which start() shows
    except NOT_WRITTEN as problem:
        if isinstance(problem, OSError) and problem.errno not in ADVICE:
            raise  # there is no next step that would be known here
        traceback.print_exc()
        sys.exit(str(disk_error(problem)))
