"""How long a job takes on a warm local cloud, from `run` to its return, and on torchx.

`python -m benchmarks.jobs.job ROUNDS` prints, as JSON, seconds for each turn of each measure; they
take turns. With --no-long-poll the server answers every look at a job at once, and the SDK sleeps
five seconds between two looks: what the trivial script then takes.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.lesson_code import LESSON, SCRIPT, TABLE, preparation
from testing.measure import as_table, last_line, measure_seconds, say

TORCHX = LESSON / ".venv-torchx" / "bin" / "torchx"  # its pins do not agree with the lesson's
BUCKET = "benchmark"
SAGEMAKER_IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.9.0-cpu-py312"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
OWN_IMAGE = "us-central1-docker.pkg.dev/benchmark/images/training:1"

NUMBERS = itertools.count()
TURNS = 7
# What is measured: the row's words, and the goal in seconds.
JOBS = {
    "trivial": ("`CustomTrainingJob.run` of a trivial script", "0.5"),
    "trivial, no long poll": ("the same, looking every 5 s and not held", ""),
    "trivial, torchx": ("the same script, `torchx run -s local_cwd`", ""),
    "torch": ("`CustomTrainingJob.run` of a script that imports torch and ends", "1"),
    "one replica": ("`CustomTrainingJob.run` of train_nn.py, 50 epochs, one replica", "2"),
    "own image": (
        "`CustomJob.from_local_script` of the same in one's own image, where pip installs it",
        "",
    ),
    "bare script": ("train_nn.py alone, `python train_nn.py`", ""),
    "two replicas": ("`CustomTrainingJob.run` of train_nn.py, 50 epochs, two replicas", "4"),
    "trivial, SageMaker": ("`ModelTrainer.train` of the trivial script", ""),
    "torch, SageMaker": ("`ModelTrainer.train` of the script that imports torch", ""),
    "one instance": ("`ModelTrainer.train` of train_nn.py, 50 epochs, one instance", ""),
    "two instances": ("`ModelTrainer.train` of train_nn.py, 50 epochs, two instances", ""),
    "two replicas, torchx": ("train_nn.py by torchx's `dist.ddp`, two processes", ""),
}

# Those whose jobs start warm (local_cloud/engine/warm/suitability.py).
WARM = {
    "torch",
    "one replica",
    "own image",
    "two replicas",
    "torch, SageMaker",
    "one instance",
    "two instances",
}


def vertex(script: Path, arguments: list[Any], replicas: int = 1) -> None:
    """Call as the SDK does: pack, upload, create, wait."""
    from google.cloud import aiplatform

    job = aiplatform.CustomTrainingJob(
        display_name="benchmark", script_path=str(script), container_uri=IMAGE
    )
    job.run(args=arguments, replica_count=replicas, base_output_dir=f"gs://{BUCKET}/{replicas}")


def vertex_in_own_image(script: Path, arguments: list[Any]) -> None:
    """Call as the SDK does where the image is not Google's: the job itself installs the code."""
    from google.cloud import aiplatform

    job = aiplatform.CustomJob.from_local_script(
        display_name="benchmark",
        script_path=str(script),
        container_uri=OWN_IMAGE,
        args=arguments,
        machine_type="n1-standard-4",
        base_output_dir=f"gs://{BUCKET}/own",
    )
    job.run()


def sagemaker(folder: Path, script: str, flags: dict[str, Any], instances: int = 1) -> None:
    """Call as the SDK does: upload code and drivers, create, wait; train/ and val/ are channels."""
    from sagemaker.core.training.configs import Compute, InputData, SourceCode
    from sagemaker.train import ModelTrainer

    trainer = ModelTrainer(
        training_image=SAGEMAKER_IMAGE,
        source_code=SourceCode(source_dir=str(folder), entry_script=script),
        compute=Compute(instance_type="ml.m5.large", instance_count=instances),
        hyperparameters=flags,
        base_job_name=f"benchmark-{next(NUMBERS)}",  # the SDK's names differ by the second
    )
    data = [
        InputData(channel_name=name, data_source=f"s3://{BUCKET}/{name}_data.npz")
        for name in ("train", "val")
        if name in flags
    ]
    trainer.train(input_data_config=data, logs=False)


def torchx(*arguments: str) -> None:
    """`torchx run` on this machine, waiting for its end; from an environment of its own."""
    command = [str(TORCHX), "run", "--wait", "-s", "local_cwd", *arguments]
    path = f"{TORCHX.parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"PATH": path})


def measures(folder: Path) -> dict[str, Callable[[], float]]:
    """Return what is timed, by name."""
    made = preparation.prepare(TABLE, str(folder))
    trivial = folder / "trivial" / "trivial.py"
    trivial.parent.mkdir()
    trivial.write_text("print('hello')\n")
    torch = folder / "torch" / "with_torch.py"
    torch.parent.mkdir()
    torch.write_text("import torch\n")
    import boto3
    from google.cloud import storage

    bucket = storage.Client().create_bucket(BUCKET)
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    for path in (made.train, made.val):
        bucket.blob(Path(path).name).upload_from_filename(str(path))
        s3.upload_file(str(path), BUCKET, Path(path).name)
    flags = ["--epochs=50", "--patience=0"]
    local = [f"--train={made.train}", f"--val={made.val}", f"--model_dir={folder}", *flags]
    there = [f"--train=gs://{BUCKET}/{Path(made.train).name}"]
    there += [f"--val=gs://{BUCKET}/{Path(made.val).name}", *flags]
    bare = [sys.executable, str(SCRIPT), *local]
    channels = {name: f"/opt/ml/input/data/{name}/{name}_data.npz" for name in ("train", "val")}
    flags_there = {**channels, "epochs": 50, "patience": 0}
    ddp = ["dist.ddp", "-j", "1x2", "--script", str(SCRIPT), "--", *local]
    return {
        "trivial": lambda: measure_seconds(lambda: vertex(trivial, [])),
        "trivial, torchx": lambda: measure_seconds(
            lambda: torchx("utils.python", "--script", str(trivial))
        ),
        "torch": lambda: measure_seconds(lambda: vertex(torch, [])),
        "one replica": lambda: measure_seconds(lambda: vertex(SCRIPT, there)),
        "own image": lambda: measure_seconds(lambda: vertex_in_own_image(SCRIPT, there)),
        "bare script": lambda: measure_seconds(
            lambda: subprocess.run(bare, check=True, capture_output=True)
        ),
        "two replicas": lambda: measure_seconds(lambda: vertex(SCRIPT, there, replicas=2)),
        "trivial, SageMaker": lambda: measure_seconds(
            lambda: sagemaker(trivial.parent, trivial.name, {})
        ),
        "torch, SageMaker": lambda: measure_seconds(
            lambda: sagemaker(torch.parent, torch.name, {})
        ),
        "one instance": lambda: measure_seconds(
            lambda: sagemaker(SCRIPT.parent, SCRIPT.name, flags_there)
        ),
        "two instances": lambda: measure_seconds(
            lambda: sagemaker(SCRIPT.parent, SCRIPT.name, flags_there, instances=2)
        ),
        "two replicas, torchx": lambda: measure_seconds(lambda: torchx(*ddp)),
    }


@contextlib.contextmanager
def warm() -> Iterator[None]:
    """Yield a local cloud of this benchmark's own, with SDKs that are loaded and pointed at it."""
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
    """Start a server that answers every look at once, as the real one does."""
    from local_cloud.client.control import status
    from local_cloud.client.home import Home

    code = (
        "from local_cloud import server; from local_cloud.google.vertex import routes;"
        f"routes.HOLD_SECONDS = 0; server.main({str(folder)!r})"
    )
    subprocess.Popen([sys.executable, "-c", code])
    while not status(Home(folder)).running:
        time.sleep(0.05)


def as_the_sdk_looks(measure: Callable[[], float]) -> float:
    """Measure with the SDK's own five seconds between two looks."""
    from google.cloud.aiplatform import training_jobs

    training_jobs._JOB_WAIT_TIME = 5
    return measure()


def main() -> None:
    """Take every measure in turn, after a first round that is not counted."""
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


def section() -> str:
    """Measure from `run` to its return, on a warm local cloud."""
    say("jobs: the SDK on the local cloud, the bare script and torchx take turns ...")
    taken = last_line("-m", "benchmarks.jobs.job", str(TURNS))
    cold = last_line("-m", "benchmarks.jobs.job", str(TURNS), LOCAL_CLOUD_WARM="0")
    (taken["trivial, no long poll"],) = last_line(
        "-m", "benchmarks.jobs.job", "2", "--no-long-poll"
    ).values()
    lines = [
        (words, seconds(taken[name]), seconds(cold[name]) if name in WARM else "", goal)
        for name, (words, goal) in JOBS.items()
    ]
    return (
        "### A job, from `run` to its return, on a local cloud that runs already\n\n"
        f"{as_table(('what', 'seconds (median)', 'cold start', 'goal, under'), lines)}"
    )


def seconds(taken: list[float]) -> str:
    """Return the median."""
    return f"{statistics.median(taken):.2f}"


if __name__ == "__main__":
    main()
