"""Managed spot training: a job is interrupted, and goes on if it has kept what it needs for it."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.amazon.sagemaker.jobs import failure_reason, status
from local_cloud.engine.jobs import attempt_runner
from local_cloud.engine.jobs.attempt_runner import AGAIN
from local_cloud.engine.spec import Attempt, Job, Outcome, State
from local_cloud.json_types import Json
from tests.amazon.sagemaker.jobs.test_endings import begun, steps
from tests.amazon.sagemaker.support import BUCKET, go, running

# Counts epochs; when it is told to end it keeps how far it is in the checkpoints' folder, if there
# is one, and goes on from there.
TRAINS = """
import json, os, pathlib, signal, sys, time
folder = pathlib.Path("/opt/ml/checkpoints")
host = json.load(open("/opt/ml/input/config/resourceconfig.json"))["current_host"]
checkpoint = folder / f"epoch-{host}"
print("finds", sorted(os.listdir("/opt/ml/model")), os.listdir("/opt/ml/output/data"), flush=True)
open("/opt/ml/model/of-this-attempt", "w").close()
open("/opt/ml/output/data/of-this-attempt", "w").close()
done = int(checkpoint.read_text()) if checkpoint.exists() else 0
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
while done < EPOCHS:
    time.sleep(0.02)
    done += 1
    print(f"epoch {done:4d}  loss 0.5", flush=True)
    if asked:  # between two epochs: what is counted has been printed
        if folder.exists():
            checkpoint.write_text(str(done))
        open("/opt/ml/model/half", "w").close()
        sys.exit(0)
"""
STOPPING = {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 60}
CHECKPOINTS = {"CheckpointConfig": {"S3Uri": f"s3://{BUCKET}/checkpoints/of-a-job"}}


def spot(**more: Any) -> Json:
    return {"EnableManagedSpotTraining": True, "StoppingCondition": STOPPING} | more


def trains(epochs: int = 60) -> str:
    return TRAINS.replace("EPOCHS", str(epochs))


@pytest.fixture(autouse=True)
def _short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_runner, "PAUSE", 0.1)


def epochs(log: str) -> list[int]:
    return [int(line.split()[1]) for line in log.splitlines() if line.startswith("epoch")]


ONCE = ["Starting", "Downloading", "Training"]


class TestInterrupted:
    def test_a_job_with_checkpoints_goes_on(self, tmp_path: Path, how: str) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                sagemaker.engine.rehearse([30])
                job = await sagemaker.run(trains(), instances=2, **spot(**CHECKPOINTS))
                assert steps(job) == [*ONCE, "Interrupted", *ONCE, "Uploading", "Completed"]
                for before, after in itertools.pairwise(job["SecondaryStatusTransitions"]):
                    assert before["StartTime"] <= before["EndTime"] == after["StartTime"]
                log = sagemaker.log("a-job")
                assert epochs(log) == list(range(1, 61))
                assert "spot stop rehearsed at epoch 30" in log and f"{AGAIN}2" in log
                # Each attempt has /opt/ml of its own, and only the last one's reaches S3.
                assert log.count("finds [] []") == 2
                assert [*sagemaker.archive("out/a-job/output/model.tar.gz")] == ["of-this-attempt"]
                assert sagemaker.keys("checkpoints/") == [
                    f"checkpoints/of-a-job/epoch-algo-{n}" for n in (1, 2)
                ]
                assert job["EnableManagedSpotTraining"]

        go(story())

    def test_one_that_is_not_spot_is_left_alone(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                sagemaker.engine.rehearse([5])
                job = await sagemaker.run(trains(10))
                assert "Interrupted" not in steps(job)

        go(story())

    def test_a_failed_script_is_failed(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                job = await sagemaker.run("import os; os.abort()", status="Failed", **spot())
                assert "exit code: 134" in job["FailureReason"]
                assert steps(job).count("Training") == 1

        go(story())


class TestLimits:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("limits", "secondary"),
        [
            ({"MaxRuntimeInSeconds": 1, "MaxWaitTimeInSeconds": 60}, "MaxRuntimeExceeded"),
            ({"MaxRuntimeInSeconds": 8, "MaxWaitTimeInSeconds": 8}, "MaxWaitTimeExceeded"),
        ],
    )
    def test_they_span_the_attempts(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        limits: Json,
        secondary: str,
    ) -> None:
        monkeypatch.setattr(attempt_runner, "PAUSE", 0.7)

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                sagemaker.engine.rehearse([20])  # after 0.4 s of training
                script = trains(10_000)
                wanted = spot(StoppingCondition=limits)
                job = await sagemaker.run(script, status="Stopped", **wanted)
                assert job["SecondaryStatus"] == secondary
                assert steps(job)[:7] == [*ONCE, "Interrupted", *ONCE]
                assert "FailureReason" not in job
                assert job["ModelArtifacts"]["S3ModelArtifacts"].endswith("model.tar.gz")

        go(story())


class TestStopped:
    def test_between_two_attempts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(attempt_runner, "PAUSE", 30)

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                name = sagemaker.send(script=trains(10_000), **spot())
                await begun(sagemaker, name, "epoch")
                sagemaker.engine.rehearse([1])
                while sagemaker.engine.get(name).state is State.RUNNING:
                    await asyncio.sleep(0.02)
                described = sagemaker("DescribeTrainingJob", TrainingJobName=name)
                (listed,) = sagemaker("ListTrainingJobs")["TrainingJobSummaries"]
                for told in (described, listed):
                    assert told["TrainingJobStatus"] == "InProgress"
                assert described["SecondaryStatus"] == "Starting"
                sagemaker("StopTrainingJob", TrainingJobName=name)
                job = await sagemaker.end(name, "Stopped")
                assert steps(job) == [
                    *ONCE,
                    "Interrupted",
                    "Starting",
                    "Stopping",
                    "Uploading",
                    "Stopped",
                ]
                assert not sagemaker.keys("out/")  # the first attempt's disks are gone

        go(story())

    def test_while_it_is_being_interrupted(self, tmp_path: Path) -> None:
        script = """
import signal, sys, time
def stop(*_):
    time.sleep(0.5)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("epoch 1", flush=True)
time.sleep(60)
"""

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                sagemaker.engine.rehearse([1])
                name = sagemaker.send(script=script, **spot())
                await begun(sagemaker, name, "rehearsed")
                described = sagemaker("DescribeTrainingJob", TrainingJobName=name)
                assert described["SecondaryStatus"] == "Interrupted"
                sagemaker("StopTrainingJob", TrainingJobName=name)
                job = await sagemaker.end(name, "Stopped")
                assert steps(job)[3:] == ["Interrupted", "Stopping", "Uploading", "Stopped"]

        go(story())


# ---- the steps, worked out from the times --------------------------------------------------------
gaps = st.floats(0.01, 1e4)


@given(st.lists(st.tuples(gaps, gaps, gaps, gaps), min_size=1, max_size=5), st.booleans())
def test_the_steps_of_any_number_of_attempts(
    tries: list[tuple[float, float, float, float]], ended: bool
) -> None:
    now, attempts = 1e9, []
    for staged, started, interrupted, gone in tries:
        attempts.append(
            Attempt(now + staged, now + staged + started, now + staged + started + interrupted)
        )
        now = (attempts[-1].interrupted or 0) + gone
        attempts[-1] = Attempt(**{**vars(attempts[-1]), "ended": now})
    last = attempts[-1]
    attempts[-1] = Attempt(last.staged, last.started, None, now if ended else None)
    state = State.SUCCEEDED if ended else State.RUNNING
    outcome = Outcome(state, "succeeded", "") if ended else None
    job = Job(
        "a",
        "sagemaker",
        1,
        state,
        1e9,
        started=attempts[0].started,
        ended=now if ended else None,
        outcome=outcome,
        attempts=tuple(attempts),
    )
    described = status.progress(job, {})
    words = [*ONCE, *["Interrupted", *ONCE] * (len(tries) - 1), *["Completed"] * ended]
    assert steps(described) == words
    every = described["SecondaryStatusTransitions"]
    assert all(a["EndTime"] == b["StartTime"] for a, b in itertools.pairwise(every))
    assert ("EndTime" in every[-1]) == ended
    assert described["SecondaryStatus"] == words[-1]
    if ended:
        apart = [(each.ended or 0) - each.staged for each in attempts]
        assert abs(described["TrainingTimeInSeconds"] - sum(apart)) < 1 + 1e-3
        assert described["BillableTimeInSeconds"] == described["TrainingTimeInSeconds"]


@given(st.lists(st.sampled_from(["a", "b ", "local cloud: x", f"{AGAIN}2", "=======", ""])))
def test_the_last_words_are_the_last_attempts(lines: list[str]) -> None:
    last = lines[::-1][: lines[::-1].index(f"{AGAIN}2")][::-1] if f"{AGAIN}2" in lines else lines
    own = list(itertools.takewhile(lambda line: line != "=======", last))
    said = [line.strip() for line in own if line and not line.startswith("local cloud: ")]
    assert failure_reason.own_words(lines) == (said[-1] if said else "")
