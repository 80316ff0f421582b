"""A model server for tests: `python model_server.py PORT`. What it does, a request's body says.

`{"say": …}` is echoed with the process's id and its replica; "wait" holds the answer back for so
many seconds; "end" ends the process without an answer; "reach" is a port to which it connects.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two packets

    def do_GET(self) -> None:
        self.answer({})

    def do_POST(self) -> None:
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "end" in wish:
            os._exit(int(wish["end"]))
        time.sleep(wish.get("wait", 0))
        body = {"say": wish.get("say"), "pid": os.getpid(), "name": os.environ.get("NAME", "")}
        body["replica"] = os.path.basename(os.getcwd())
        if "reach" in wish:
            with socket.create_connection(("127.0.0.1", wish["reach"]), timeout=10) as line:
                line.sendall(b"from within\n")
                body["heard"] = line.makefile().readline()
        self.answer(body, wish.get("status", 200))

    def answer(self, content: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
