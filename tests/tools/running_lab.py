"""A real JupyterLab, started as `make lab` starts it, and used by its HTTP API as its page does."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
import websocket

from tests.training.support import free_port
from tools.lab.__main__ import command, use_settings
from tools.pages.folder import ROOT

Json = dict[str, Any]
LONGEST = 60.0  # seconds for a kernel on a busy machine


class RunningLab:
    """JupyterLab with folders of its own, for as long as the `with` lasts."""

    def __init__(self, folder: Path, transport: str = "ipc", **variables: str) -> None:
        """folder: new, for JupyterLab's own files. transport: "tcp" as elsewhere."""
        self.folder = folder
        self.port = free_port()
        self.token = secrets.token_hex(16)
        words = ["--no-browser", "--allow-root", f"--port={self.port}"]
        words = [w.replace("transport=ipc", f"transport={transport}") for w in command(words)]
        self.runtime = Path(tempfile.mkdtemp(prefix="lab-", dir="/tmp"))  # short, for sockets
        own = {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA")}
        own |= {"JUPYTER_RUNTIME_DIR": str(self.runtime)}
        own |= {"JUPYTER_TOKEN": self.token, "IPYTHONDIR": str(folder / "ipython")}
        folder.mkdir(parents=True, exist_ok=True)
        use_settings(Path(sys.prefix))
        with open(folder / "log", "w") as log:
            self.process = psutil.Popen(
                words, cwd=ROOT, env=os.environ | own | variables, stdout=log, stderr=log
            )

    def __enter__(self) -> RunningLab:
        """Wait until it answers."""
        end = time.monotonic() + LONGEST
        while True:
            try:
                self.ask("GET", "/api/status")
            except OSError:
                assert self.process.is_running() and time.monotonic() < end, self.log()
                time.sleep(0.1)
            else:
                return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Stop it, and with it its kernels."""
        self.process.terminate()
        try:
            self.process.wait(LONGEST)
        except psutil.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.runtime, ignore_errors=True)

    def log(self) -> str:
        """What JupyterLab has said."""
        return (self.folder / "log").read_text(errors="replace")

    def ask(self, method: str, path: str, body: Json | None = None) -> Any:
        """Send one request with the token; the answer's JSON. OSError if it is refused."""
        content = self.page(path, method, body)
        return json.loads(content) if content else None

    def page(self, path: str, method: str = "GET", body: Json | None = None) -> str:
        """Do the same; the answer's text."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {self.token}"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=LONGEST) as answer:
            text: str = answer.read().decode()
        return text

    def start_kernel(self) -> str:
        """Start a kernel; its id."""
        return str(self.ask("POST", "/api/kernels", {"name": "python3"})["id"])

    def connect(self, path: str) -> websocket.WebSocket:
        """Open a web socket, as the page does for a notebook or a terminal."""
        url = f"ws://127.0.0.1:{self.port}{path}"
        header = [f"Authorization: token {self.token}"]
        return websocket.create_connection(url, timeout=LONGEST, header=header)

    def run(self, kernel: str, code: str) -> str:
        """Run a cell; what it has printed, or the name of its error."""
        with contextlib.closing(self.connect(f"/api/kernels/{kernel}/channels")) as line:
            return "".join(self._printed(line, self._send(line, code)))

    def _send(self, line: websocket.WebSocket, code: str) -> str:
        """Send a cell to a kernel; the message's id."""
        sent = secrets.token_hex(8)
        header = {"msg_id": sent, "msg_type": "execute_request", "session": "s", "username": ""}
        message = {"channel": "shell", "header": header | {"version": "5.3", "date": ""}}
        message |= {"parent_header": {}, "metadata": {}, "content": {"code": code}}
        line.send(json.dumps(message))
        return sent

    def _printed(self, line: websocket.WebSocket, sent: str) -> Iterator[str]:
        while True:
            message = json.loads(line.recv())
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != sent:
                continue
            if kind == "stream":
                yield content["text"]
            elif kind == "error":
                yield content["ename"]
            elif kind == "status" and content["execution_state"] == "idle":
                return

    def processes(self) -> list[psutil.Process]:
        """JupyterLab and all that it has started."""
        return [self.process, *self.process.children(recursive=True)]

    def ports(self) -> set[int]:
        """The TCP ports on which it or one of its kernels listens."""
        return {
            line.laddr.port
            for process in self.processes()
            for line in process.net_connections("tcp")
            if line.status == psutil.CONN_LISTEN
        }
