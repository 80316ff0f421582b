"""Every helper verb, once, with each request and each printed line written down; a program.

    python every_verb.py RECORD DATA ...     (LESSON_TARGET says which target)

Under `cloud` the requests are meant for Google. Here each is written down and then sent to the
local cloud instead, whose address FORWARD_TO holds, and a connection to anything else is refused.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import google.auth
import google.oauth2.credentials
import requests

RECORD, *FILES = sys.argv[1:]
TARGET, LOCAL = os.environ["LESSON_TARGET"], os.environ["FORWARD_TO"]
OWN_IMAGE = "us-central1-docker.pkg.dev/my-project/images/torch:1"
events: list[dict[str, Any]] = []
send = requests.Session.send


def recorded(session: requests.Session, request: requests.PreparedRequest, **more: Any) -> Any:
    """Write a request down, send it to the local cloud if it is for Google, and send it."""
    assert request.url
    body = request.body or b""
    events.append(
        {
            "method": request.method,
            "url": request.url,
            "in_turn": threading.current_thread() is threading.main_thread(),
            "authorization": request.headers.get("Authorization"),
            "body": body.decode("latin-1") if isinstance(body, bytes) else str(body),
        }
    )
    if TARGET == "local":
        return send(session, request, **more)
    google = f"https://{urlsplit(request.url).netloc}"
    request.url = request.url.replace(google, LOCAL, 1)
    answer = send(session, request, **more)
    if "json" in answer.headers.get("Content-Type", ""):  # addresses in it are the service's own
        answer._content = answer.content.replace(LOCAL.encode(), google.encode())
    return answer


def only_the_local_cloud(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: whatever does not go through requests is caught at its socket."""
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        address, port, *_ = arguments[1]
        assert (address, port) == ("127.0.0.1", urlsplit(LOCAL).port), arguments[1]


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
        return getattr(GCP_helpers, verb)(*arguments, **more)

    import GCP_helpers
    from GCP_helpers import jobs, tuning
    from lesson.studies import between, one_of

    call("connect", "recorded", project="my-project")
    train, val = call("upload", *FILES, prefix="data")
    call("estimate_cost", "n1-standard-4", gpu="T4")
    flags = {"train": train, "val": val, "epochs": 3}
    run = call("train", flags)
    endpoint = call("deploy", run)
    call("predict", endpoint, [{"Pclass": 1, "Sex": "female", "Embarked": "S"}])
    call("register", run)
    with tempfile.TemporaryDirectory() as folder:
        request = GCP_helpers.train(flags, dry_run=True)
        call("write_job", request, f"{folder}/config.yaml")
    space = {"learning_rate": between(0.001, 0.01, scale="log"), "hidden": one_of("8", "16")}
    tuning.FOLDER = Path(__file__).with_name("trial.py")  # the search is the point here
    call("tune", flags, space, trials=2, parallel=1)
    jobs.FOLDER = tuning.FOLDER  # to be cancelled, it need not train
    long = flags | {"sleep": 10_000}
    sent = call("train", long, replicas=2, gpu="T4", spot=True, container_uri=OWN_IMAGE, wait=False)
    events.append({"verb": "until it runs"})
    while "RUNNING" not in sent.job.state.name:
        time.sleep(0.1)
    call("list_jobs")
    call("cancel", sent)
    call("wait", sent.job.display_name)
    call("cleanup")
    call("cleanup", dry_run=False)


if __name__ == "__main__":
    sys.addaudithook(only_the_local_cloud)
    requests.Session.send = recorded  # type: ignore[method-assign]
    sys.stdout = Printed()  # type: ignore[assignment]
    if TARGET == "cloud":
        ours = google.oauth2.credentials.Credentials("a token")  # type: ignore[no-untyped-call]
        google.auth.default = lambda *_, **__: (ours, None)
    try:
        main()
    finally:
        Path(RECORD).write_text(json.dumps(events))
