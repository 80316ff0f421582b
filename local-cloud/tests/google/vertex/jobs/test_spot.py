"""Jobs that are run again: on spot machines, and after exit codes that count as passing."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from google.cloud import storage

import local_cloud
from local_cloud.engine.processes import reaper
from tests.google.vertex.jobs.test_custom_job import custom_job, pool
from tests.google.vertex.support import BUCKET, Script

# Counts epochs; keeps how far it is when it is told to end, and goes on from there. What it meets
# at each start is kept too.
TRAINS = """
import json, os, pathlib, signal, sys, time
folder = pathlib.Path(os.environ["AIP_CHECKPOINT_DIR"].replace("gs://", "/gcs/"))
folder.mkdir(parents=True, exist_ok=True)
rank, here = os.environ["RANK"], os.listdir(".")
open("left", "w").close()
starts = folder / f"starts-{rank}"
with starts.open("a") as file:
    file.write(json.dumps({"here": here, "environment": dict(os.environ)}))
    file.write("\\n")
checkpoint = folder / "epoch"
done = int(checkpoint.read_text()) if checkpoint.exists() else 0
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1) if rank == "0" else sys.exit(134))
if rank != "0":
    time.sleep(600)
while done < 60:
    time.sleep(0.02)
    done += 1
    print(f"epoch {done:4d}  loss 0.5", flush=True)
    while done in HOLDS and not asked:
        time.sleep(0.02)
    if asked:  # between two epochs: what is counted has been printed
        checkpoint.write_text(str(done))
        sys.exit(134)
"""
ENDS = TRAINS.replace("HOLDS", "()").replace("60", "20")
SLOWLY = TRAINS.replace("0.02", "0.06")  # no state is too short to be seen
HOLDS = SLOWLY.replace("HOLDS", "[30]")  # waits there until it is told to end
SPOT = 4  # types/custom_job.py, Scheduling.Strategy


@pytest.fixture(autouse=True)
def _nothing_rehearsed(aiplatform: ModuleType) -> Iterator[None]:
    yield
    local_cloud.rehearse(None)


def states_of(job: Any) -> list[str]:
    """The states that are seen until it has ended, each once in a row, in their last words.

    A look is answered when the state changes: who looks again at once misses none.
    """
    seen: list[str] = []
    while not seen or seen[-1] not in ("SUCCEEDED", "FAILED", "CANCELLED"):
        if (word := job.state.name.rpartition("_")[2]) not in seen[-1:]:
            seen.append(word)
    return seen


def starts(name: str, rank: int = 0) -> list[dict[str, Any]]:
    text = storage.Client().bucket(BUCKET).blob(f"{name}/checkpoints/starts-{rank}")
    return [json.loads(line) for line in text.download_as_text().splitlines()]


def log(job: Any, replica: str = "workerpool0-0") -> list[str]:
    folder = local_cloud.status().home.data / "jobs" / job.resource_name.rsplit("/", 1)[1]
    path = folder / f"{replica}.log"
    return path.read_text().splitlines() if path.exists() else []


def test_a_rehearsed_stop_of_a_job_with_two_replicas(aiplatform: ModuleType) -> None:
    said = local_cloud.rehearse(epoch=30)
    assert "interrupted once, at epoch 30" in said
    job = custom_job(aiplatform, pool(HOLDS), pool(HOLDS), base_output_dir=f"gs://{BUCKET}/two")
    job.submit(scheduling_strategy=SPOT)
    assert states_of(job)[-4:] == ["RUNNING", "PENDING", "RUNNING", "SUCCEEDED"]

    lines = log(job)
    stopped = "local cloud: spot stop rehearsed at epoch 30: the replicas were sent SIGTERM"
    epochs = [int(line.split()[1]) for line in lines if line.startswith("epoch")]
    assert epochs == list(range(1, 61))
    again = "local cloud: the job is started again: attempt 2"
    assert [line for line in lines if line in (stopped, again)] == [stopped, again]
    assert sum("named, not pulled" in line for line in lines) == 1
    assert stopped in log(job, "workerpool1-0")

    first, second = starts("two")
    assert "left" not in second["here"]  # fresh disks
    one, other = first["environment"], second["environment"]
    kept = ("AIP_MODEL_DIR", "AIP_CHECKPOINT_DIR", "CLOUD_ML_JOB_ID", "RANK", "WORLD_SIZE")
    assert all(one[name] == other[name] for name in kept)
    assert one["CLUSTER_SPEC"] != other["CLUSTER_SPEC"]  # other ports
    ports = {each["environment"]["MASTER_PORT"] for each in starts("two", 1)}
    assert ports == {one["MASTER_PORT"], other["MASTER_PORT"]} and len(ports) == 2
    assert not reaper.find_living((), [f"LOCAL_CLOUD_JOB={job.resource_name.rsplit('/', 1)[1]}"])


def test_a_job_that_is_not_spot_is_never_interrupted(aiplatform: ModuleType) -> None:
    local_cloud.rehearse(1)
    job = custom_job(aiplatform, pool(ENDS), base_output_dir=f"gs://{BUCKET}/standard")
    job.run()
    assert len(starts("standard")) == 1
    assert local_cloud.rehearse(None) == "The rehearsal is cancelled."


@pytest.mark.slow
def test_a_training_pipeline_shows_the_same_states(aiplatform: ModuleType, script: Script) -> None:
    local_cloud.rehearse([20, 40])
    job = aiplatform.CustomTrainingJob(
        display_name="spot",
        script_path=script(SLOWLY.replace("HOLDS", "[20, 40]")),
        container_uri="us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest",
    )
    job.submit(base_output_dir=f"gs://{BUCKET}/pipeline", scheduling_strategy=SPOT)
    assert states_of(job)[-5:] == ["PENDING", "RUNNING", "PENDING", "RUNNING", "SUCCEEDED"]
    assert job.state.name == "PIPELINE_STATE_SUCCEEDED"
    assert len(starts("pipeline")) == 3


@pytest.mark.slow
def test_the_seventh_stop_is_the_end(aiplatform: ModuleType) -> None:
    endless = TRAINS.replace("HOLDS", "range(60)")
    local_cloud.rehearse([1] * 7)
    job = custom_job(aiplatform, pool(endless), base_output_dir=f"gs://{BUCKET}/seven")
    with pytest.raises(RuntimeError, match="STOCKOUT"):
        job.run(scheduling_strategy=SPOT)
    assert (job.state.name, job.error.code) == ("JOB_STATE_FAILED", 8)  # RESOURCE_EXHAUSTED
    assert len(starts("seven")) == 7


def exits(*codes: int | str) -> str:
    """Ends in the first way the first time, in the second the second, …; then with 0."""
    return f"""
import os, pathlib, signal, sys
folder = pathlib.Path(os.environ["AIP_CHECKPOINT_DIR"].replace("gs://", "/gcs/"))
folder.mkdir(parents=True, exist_ok=True)
(folder / str(len(os.listdir(folder)))).touch()
how = ({codes!r} + (0,) * 99)[len(os.listdir(folder)) - 1]
if isinstance(how, str):
    os.kill(os.getpid(), signal.Signals[how])
sys.exit(how)
"""


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        pytest.param("numbers", (6, 134, 139), marks=pytest.mark.slow),
        pytest.param("signals", ("SIGABRT", "SIGSEGV", 11), marks=pytest.mark.slow),
    ],
)
def test_passing_failures_are_tried_again(
    aiplatform: ModuleType, name: str, codes: tuple[int | str, ...]
) -> None:
    job = custom_job(aiplatform, pool(exits(*codes)), base_output_dir=f"gs://{BUCKET}/{name}")
    job.run()
    assert sum(line.endswith(tuple(f"attempt {n}" for n in (2, 3, 4))) for line in log(job)) == 3


@pytest.mark.parametrize(
    ("name", "codes", "options", "attempts"),
    [
        pytest.param("too-often", (134,) * 9, {}, 4, marks=pytest.mark.slow),
        ("error", (1,), {}, 1),
        ("killed", ("SIGKILL",), {}, 1),
        ("never", (134,), {"disable_retries": True}, 1),
        # Whether it is to begin anew for a replica's sake changes nothing: it always does.
        ("worker", (134,), {"restart_job_on_worker_restart": True}, 2),
    ],
)
def test_how_often_and_after_what(
    aiplatform: ModuleType,
    name: str,
    codes: tuple[int | str, ...],
    options: dict[str, bool],
    attempts: int,
) -> None:
    job = custom_job(aiplatform, pool(exits(*codes)), base_output_dir=f"gs://{BUCKET}/{name}")
    job.submit(**options)
    job.wait_for_resource_creation()
    with contextlib.suppress(RuntimeError):
        job._block_until_complete()
    tried = storage.Client().list_blobs(BUCKET, prefix=f"{name}/checkpoints/")
    assert len(list(tried)) == attempts
    ended = "FAILED" if attempts != 2 else "SUCCEEDED"
    assert job.state.name == f"JOB_STATE_{ended}"
