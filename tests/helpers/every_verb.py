"""Every helper verb, once, with each request and each printed line written down; a program.

    python -m tests.helpers.every_verb SIDE RECORD DATA ...     (LESSON_TARGET says which target)

Under `cloud` the requests are meant for the service. Here each is written down and then sent to the
local cloud instead, whose address FORWARD_TO holds, and a connection to anything else is refused.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.AWS_helpers import recording as amazon
from tests.GCP_helpers import recording as google
from tests.helpers.sides import ROOT, SIDES, Side

RECORDERS = {"Google": google.record, "Amazon": amazon.record}
PROJECT = {"Google": {"project": "my-project"}, "Amazon": {}}
events: list[dict[str, Any]] = []


def only_the_local_cloud(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: whatever the recorder does not know is caught at its socket."""
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        address, port, *_ = arguments[1]
        assert (address, port) == ("127.0.0.1", urlsplit(FORWARD_TO).port), arguments[1]
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


def changed_copy(folder: Path) -> Path:
    """Return a learner's copy of the code, with another network."""
    shutil.copytree(ROOT / "training", folder, ignore=shutil.ignore_patterns("__pycache__"))
    script = folder / "train_nn.py"
    script.write_text(script.read_text().replace("nn.ReLU()", "nn.Tanh()"))
    return folder


def main(side: Side, files: list[str]) -> None:
    """Call every verb; an event says which one begins."""

    def call(verb: str, *arguments: Any, **more: Any) -> Any:
        events.append({"verb": verb + (" again" if {"verb": verb} in events else "")})
        return getattr(side.helpers, verb)(*arguments, **more)

    from lesson.jobs.studies import between, one_of

    call("connect", "recorded", **PROJECT[side.cloud])
    train, val = call("upload", *files, prefix="data")
    call("estimate_cost", side.machine, gpu="T4")
    flags = {"train": train, "val": val, "epochs": 3}
    with tempfile.TemporaryDirectory() as folder:
        run = call("train", flags, code=changed_copy(Path(folder, "mine")))
    endpoint = call("deploy", run)
    call("predict", endpoint, [{"Pclass": 1, "Sex": "female", "Embarked": "S"}])
    call("register", run)
    with tempfile.TemporaryDirectory() as folder:
        request = side.helpers.train(flags, dry_run=True)
        call("write_job", request, f"{folder}/job.yaml")
    space = {"learning_rate": between(0.001, 0.01, scale="log"), "hidden": one_of("8", "16")}
    for module in side.sends_folder:
        module.FOLDER = side.trial  # the requests are the point from here on
    call("tune", flags, space, trials=2, parallel=1)
    long = flags | {"sleep": 10_000}
    more = {"replicas": 2, "gpu": "T4", "spot": True, "container_uri": side.own_image}
    sent = call("train", long, **more, wait=False)
    events.append({"verb": "until it runs"})
    while not side.is_running(sent.job):
        time.sleep(0.1)
    call("list_jobs")
    call("cancel", sent)
    call("wait", side.name(sent.job))
    call("cleanup")
    call("cleanup", dry_run=False)


if __name__ == "__main__":
    CLOUD, RECORD, *FILES = sys.argv[1:]
    FORWARD_TO = os.environ["FORWARD_TO"]
    sys.addaudithook(only_the_local_cloud)
    RECORDERS[CLOUD](os.environ["LESSON_TARGET"], FORWARD_TO, events)
    sys.stdout = Printed()  # type: ignore[assignment]
    try:
        main(SIDES[CLOUD], FILES)
    finally:
        Path(RECORD).write_text(json.dumps(events))
