"""Requests a second through an endpoint, and at the same model behind FastAPI and uvicorn.

The servers take turns: only one has clients at a time. Each computes with one thread.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from benchmarks.measure import ROOT, SCRIPT, as_table, last_line, output, ratio, say, take_turns
from lesson.preparation import prepare

IMAGE = "us-docker.pkg.dev/my-project/images/titanic:1"
BODY = json.dumps({"instances": [[0.8, -0.7, 0.1, 0.4, -0.4, 0.5, 0.2]]})
TURNS, SECONDS, CLIENTS = 5, 4, (1, 64)  # seconds of a turn


def train_model(folder: Path) -> Path:
    """Train a small model in a folder."""
    made = prepare(ROOT / "data/titanic_train.csv", folder)
    flags = ("--train", made.train, "--val", made.val, "--epochs", 50, "--model_dir", folder / "m")
    output(str(SCRIPT), *map(str, flags))
    return folder / "m"


@contextmanager
def server(*command: str) -> Iterator[str]:
    """Serve on a free port, which {} stands for; yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    process = subprocess.Popen(
        [sys.executable, *(part.replace("{}", port) for part in command)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", int(port))).close()
                break
            except ConnectionRefusedError:
                assert process.poll() is None, "the server has ended"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def endpoint(model: Path) -> Iterator[str]:
    """Deploy an endpoint of Vertex AI on a local cloud of its own.

    Yield the URL of its predict().
    """
    import local_cloud
    from local_cloud.client.control import Status

    with tempfile.TemporaryDirectory() as home:
        os.environ["LOCAL_CLOUD_HOME"] = home
        status: Status = local_cloud.activate()
        from google.cloud import aiplatform, storage

        bucket = storage.Client().create_bucket("benchmark")
        bucket.blob("model/model.pt").upload_from_filename(model / "model.pt")
        aiplatform.init(project="benchmark", location="us-central1")
        uploaded = aiplatform.Model.upload(
            display_name="benchmark",
            artifact_uri="gs://benchmark/model",
            serving_container_image_uri=IMAGE,
            serving_container_command=[sys.executable, str(ROOT / "training/serve_nn.py")],
        )
        made = uploaded.deploy(machine_type="n1-standard-2")
        try:
            yield f"{status.url}/v1/{made.resource_name}:predict"
        finally:
            made.delete(force=True)
            local_cloud.stop()


def rates(url: str, clients: int) -> float:
    """Count requests answered in a second, and keep the 99th percentile beside it."""
    found = last_line("-m", "benchmarks.load", url, str(clients), str(SECONDS), BODY)
    LATE.setdefault((url, clients), []).append(found["p99"])
    return float(found["rate"])


LATE: dict[tuple[str, int], list[float]] = {}


def section() -> str:
    """Return the section of the page."""
    say("serving ...")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        model = train_model(Path(folder))
        plain = stack.enter_context(server("-m", "benchmarks.plain_server", str(model), "{}"))
        alone = stack.enter_context(
            server("training/serve_nn.py", "--model_dir", str(model), "--port", "{}")
        )
        urls = {
            "FastAPI and uvicorn": f"{plain}/predict",
            "serve_nn.py": f"{alone}/invocations",
            "serve_nn.py behind an endpoint": stack.enter_context(endpoint(model)),
        }
        rows = []
        for clients in CLIENTS:
            found = take_turns(
                {name: partial(rates, url, clients) for name, url in urls.items()}, TURNS
            )
            for name, url in urls.items():
                rows.append(
                    (
                        name,
                        clients,
                        f"{statistics.median(found[name]):,.0f}",
                        f"{ratio(found[name], found['FastAPI and uvicorn']):.2f}",
                        f"{statistics.median(LATE[url, clients]):.1f}",
                    )
                )
    columns = ("server", "clients", "requests a second", "of FastAPI's", "99th percentile, ms")
    return f"### Predictions, one passenger in each request\n\n{as_table(columns, rows)}"
