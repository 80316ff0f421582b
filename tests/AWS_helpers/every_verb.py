"""Every helper verb, once, with each request and each printed line written down; a program.

    python every_verb.py RECORD DATA ...     (LESSON_TARGET says which target)

Under `cloud` the requests are meant for Amazon. Here each is written down and then sent to the
local cloud instead, whose address FORWARD_TO holds, and a connection to anything else is refused.
The SageMaker SDK also tells Amazon how it is used, outside of boto3: that is written down too, and
goes nowhere.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from botocore.httpsession import URLLib3Session

from tests import once

RECORD, *FILES = sys.argv[1:]
TARGET, LOCAL = os.environ["LESSON_TARGET"], os.environ["FORWARD_TO"]
OWN_IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/torch:1"
events: list[dict[str, Any]] = []
send = URLLib3Session.send


def recorded(session: URLLib3Session, request: Any) -> Any:
    """Write a request down, send it to the local cloud if it is for Amazon, and send it."""
    headers = {name.lower(): _text(value) for name, value in request.headers.items()}
    events.append(
        {
            "method": request.method,
            "thread": threading.current_thread().name,
            "url": request.url,
            "operation": headers.get("x-amz-target", ""),
            "authorization": headers.get("authorization", ""),
            "size": headers.get("x-amz-decoded-content-length") or headers.get("content-length"),
            "body": _text(request.body) if isinstance(request.body, str | bytes) else "",
        }
    )
    if TARGET == "cloud":
        request.url = LOCAL + at_home(request.url)
    return send(session, request)


def at_home(url: str) -> str:
    """The path and query on the local cloud, which has buckets in the path and not in the host."""
    parts = urlsplit(url)
    bucket = re.fullmatch(r"([^.]+)\.s3(\.[a-z0-9-]+)?\.amazonaws\.com", parts.netloc)
    path = f"/{bucket[1]}{parts.path}" if bucket else parts.path
    return path + (f"?{parts.query}" if parts.query else "")


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def told_elsewhere(url: str, *_: Any, **__: Any) -> Any:
    """What the SDK would tell without boto3."""
    events.append({"told": url})
    raise requests.ConnectionError("this goes nowhere")


def only_the_local_cloud(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: whatever does not go through boto3 is caught at its socket."""
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        address, port, *_ = arguments[1]
        assert (address, port) == ("127.0.0.1", urlsplit(LOCAL).port), arguments[1]
    if event == "socket.getaddrinfo":
        assert arguments[0] in ("127.0.0.1", "localhost"), arguments[0]


class Printed:
    """Standard output that is also written down."""

    def write(self, text: str) -> int:
        events.append({"printed": text})
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


def main() -> None:
    """Call every verb; an event says which one begins."""

    def call(verb: str, *arguments: Any, **more: Any) -> Any:
        events.append({"verb": verb + (" again" if {"verb": verb} in events else "")})
        return getattr(AWS_helpers, verb)(*arguments, **more)

    import AWS_helpers
    from AWS_helpers import jobs
    from lesson.studies import between, one_of

    call("connect", "recorded")
    train, val = call("upload", *FILES, prefix="data")
    call("estimate_cost", "ml.m5.xlarge", gpu="T4")
    flags = {"train": train, "val": val, "epochs": 3}
    run = call("train", flags)
    endpoint = call("deploy", run)
    call("predict", endpoint, [{"Pclass": 1, "Sex": "female", "Embarked": "S"}])
    call("register", run)
    with tempfile.TemporaryDirectory() as folder:
        request = AWS_helpers.train(flags, dry_run=True)
        call("write_job", request, f"{folder}/job.json")
    space = {"learning_rate": between(0.001, 0.01, scale="log"), "hidden": one_of("8", "16")}
    jobs.FOLDER = Path(__file__).with_name("trial")  # the requests are the point from here on
    call("tune", flags, space, trials=2, parallel=1)
    long = flags | {"sleep": 10_000}
    sent = call("train", long, replicas=2, gpu="T4", spot=True, container_uri=OWN_IMAGE, wait=False)
    events.append({"verb": "until it runs"})
    while sent.job.secondary_status != "Training":
        time.sleep(0.1)
        sent.job.refresh()
    call("list_jobs")
    call("cancel", sent)
    call("wait", sent.job.training_job_name)
    call("cleanup")
    call("cleanup", dry_run=False)


if __name__ == "__main__":
    sys.addaudithook(only_the_local_cloud)
    once.install()
    URLLib3Session.send = recorded
    requests.get = told_elsewhere
    sys.stdout = Printed()  # type: ignore[assignment]
    try:
        main()
    finally:
        Path(RECORD).write_text(json.dumps(events))
