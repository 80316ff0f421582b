"""A server that is killed loses no job, leaves no process and no half of an archive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from local_cloud.engine.processes import reaper
from tests.amazon.sagemaker.support import Refusal, go, request, running
from tests.engine.support import alive


@pytest.mark.parametrize("step", ["Uploading", "Interrupted"])
def test_a_killed_server(tmp_path: Path, step: str) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.amazon.sagemaker.serve",
        str(tmp_path),
        step,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        assert server.stdout.readline() == f"{step}\n"
        marks = [f"LOCAL_CLOUD_ENGINE={tmp_path.resolve() / 'jobs'}", "LOCAL_CLOUD_JOB=first"]
        before = reaper.find_living((), marks)
        assert bool(before) == (step == "Interrupted")
        server.kill()

    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            job = await sagemaker.end("first", "Failed")
            assert job["FailureReason"].startswith(
                "InternalServerError: We encountered an internal error. The local cloud ended while"
            )
            steps = [one["Status"] for one in job["SecondaryStatusTransitions"]]
            assert steps[-2:] == [step, "Failed"]
            pids = [int(line) for line in sagemaker.log("first").splitlines() if line.isdigit()]
            assert len(pids) == (step != "Uploading") and not any(map(alive, before))
            await sagemaker.end("second")  # it was in the queue, and has its turn now
            assert sagemaker.keys("out/") == ["out/second/output/model.tar.gz"]
            uploads = tmp_path / "buckets-uploads"
            assert [path for path in uploads.rglob("*") if path.is_file()] == []
            with pytest.raises(Refusal, match="already exists"):
                sagemaker("CreateTrainingJob", **request("first"))

    go(story())
