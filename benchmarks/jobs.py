"""How long a job takes on a warm local cloud, from `run` to its return, and on torchx.

`python -m benchmarks.jobs ROUNDS` prints, as JSON, seconds for each turn of each measure; they
take turns. With --no-long-poll the server answers every look at a job at once, and the SDK sleeps
five seconds between two looks: what the trivial script then takes.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from lesson.preparation import prepare

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "training" / "train_nn.py"
TORCHX = ROOT / ".venv-torchx" / "bin" / "torchx"  # its pins do not agree with the lesson's
BUCKET = "benchmark"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"


def timed(measure: Callable[[], object]) -> float:
    begun = time.perf_counter()
    measure()
    return time.perf_counter() - begun


def vertex(script: Path, arguments: list[Any], replicas: int = 1) -> None:
    """The SDK's own call: pack, upload, create, wait."""
    from google.cloud import aiplatform

    job = aiplatform.CustomTrainingJob(
        display_name="benchmark", script_path=str(script), container_uri=IMAGE
    )
    job.run(args=arguments, replica_count=replicas, base_output_dir=f"gs://{BUCKET}/{replicas}")


def torchx(*arguments: str) -> None:
    """`torchx run` on this machine, waiting for its end; from an environment of its own."""
    command = [str(TORCHX), "run", "--wait", "-s", "local_cwd", *arguments]
    path = f"{TORCHX.parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"PATH": path})


def measures(folder: Path) -> dict[str, Callable[[], float]]:
    """What is timed, by name."""
    made = prepare(ROOT / "data/titanic_train.csv", str(folder))
    trivial = folder / "trivial.py"
    trivial.write_text("print('hello')\n")
    from google.cloud import storage

    bucket = storage.Client().create_bucket(BUCKET)
    for name in (made.train, made.val):
        bucket.blob(Path(name).name).upload_from_filename(str(name))
    flags = ["--epochs=50", "--patience=0"]
    local = [f"--train={made.train}", f"--val={made.val}", f"--model_dir={folder}", *flags]
    there = [f"--train=gs://{BUCKET}/{Path(made.train).name}"]
    there += [f"--val=gs://{BUCKET}/{Path(made.val).name}", *flags]
    bare = [sys.executable, str(SCRIPT), *local]
    ddp = ["dist.ddp", "-j", "1x2", "--script", str(SCRIPT), "--", *local]
    return {
        "trivial": lambda: timed(lambda: vertex(trivial, [])),
        "trivial, torchx": lambda: timed(lambda: torchx("utils.python", "--script", str(trivial))),
        "one replica": lambda: timed(lambda: vertex(SCRIPT, there)),
        "bare script": lambda: timed(lambda: subprocess.run(bare, check=True, capture_output=True)),
        "two replicas": lambda: timed(lambda: vertex(SCRIPT, there, replicas=2)),
        "two replicas, torchx": lambda: timed(lambda: torchx(*ddp)),
    }


@contextlib.contextmanager
def warm() -> Iterator[None]:
    """A local cloud of this benchmark's own, and SDKs that are loaded and pointed at it."""
    import local_cloud

    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOCAL_CLOUD_HOME"] = folder
        if "--no-long-poll" in sys.argv:
            start_without_long_poll(Path(folder))
        local_cloud.activate()
        from google.cloud import aiplatform

        aiplatform.init(
            project="benchmark", location="us-central1", staging_bucket=f"gs://{BUCKET}"
        )
        logging.getLogger("google.cloud.aiplatform").setLevel(logging.ERROR)
        try:
            yield
        finally:
            local_cloud.stop()


def start_without_long_poll(folder: Path) -> None:
    """A server that answers every look at once, as the real one does."""
    from local_cloud.control import status
    from local_cloud.home import Home

    code = (
        "from local_cloud import server; from local_cloud.vertex import routes;"
        f"routes.HOLD_SECONDS = 0; server.main({str(folder)!r})"
    )
    subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    while not status(Home(folder)).running:
        time.sleep(0.05)


def as_the_sdk_looks(measure: Callable[[], float]) -> float:
    """With the SDK's own five seconds between two looks."""
    from google.cloud.aiplatform import training_jobs

    training_jobs._JOB_WAIT_TIME = 5
    return measure()


def main() -> None:
    """Every measure in turn, after a first round that is not counted."""
    hidden = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, warm(), hidden:
        all_of_them = measures(Path(folder))
        if "--no-long-poll" in sys.argv:
            all_of_them = {"trivial": partial(as_the_sdk_looks, all_of_them["trivial"])}
        rounds = [
            {name: measure() for name, measure in all_of_them.items()}
            for _ in range(int(sys.argv[1]) + 1)
        ]
    print(json.dumps({name: [one[name] for one in rounds[1:]] for name in all_of_them}))


if __name__ == "__main__":
    main()
