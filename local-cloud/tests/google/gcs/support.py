"""Cloud Storage's routes on a port of loopback, without the rest of the local cloud's server."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Self

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from local_cloud.google.gcs.routes import routes
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records


def guarded(app: ASGIApp) -> ASGIApp:
    """What the server's guard does to a request: the secret off, the path undecoded."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["raw_path"].decode("ascii")
            assert path.startswith("/SECRET/")
            scope = scope | {"path": path.removeprefix("/SECRET"), "root_path": "/SECRET"}
        await app(scope, receive, send)

    return guard


class Server:
    """A server that can be stopped and started again on the same port and folder."""

    def __init__(self, folder: Path) -> None:
        self.buckets = folder / "buckets"
        self._records = folder / "records.sqlite"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}/SECRET"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        while not (hasattr(self, "_uvicorn") and self._uvicorn.started):
            assert self._thread.is_alive()
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._uvicorn.should_exit = True
        self._thread.join()
        del self._uvicorn

    def _run(self) -> None:
        records = Records(self._records)
        app = guarded(Starlette(routes=routes(Objects(self.buckets, records))))
        config = uvicorn.Config(
            app, port=self._port, log_level="error", lifespan="off", timeout_graceful_shutdown=1
        )
        self._uvicorn = uvicorn.Server(config)
        self._uvicorn.run()
        records.close()
