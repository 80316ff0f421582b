"""How jobs end, what is told of it, and what they leave behind."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest

from local_cloud.engine.spec import State
from local_cloud.json_types import Json
from tests.amazon.sagemaker.support import (
    BUCKET,
    Refusal,
    Service,
    go,
    request,
    running,
    sdk2,
    sdk3,
)

# Says that it has begun, and ends only when it is told to; then it leaves a model.
WAITS = """
import pathlib, signal, sys, time
def end(number, frame):
    pathlib.Path("/opt/ml/model/so-far").write_text("half")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("begun", flush=True)
time.sleep(600)
"""
# The same, slowly, as what keeps a checkpoint does, and says so.
ENDS_SLOWLY = WAITS.replace(
    "    sys.exit",
    "    print('is asked to end', flush=True)\n    time.sleep(0.3)\n"
    "    print('has kept everything', flush=True)\n    sys.exit",
)

NONE = {"CompressionType": "NONE"}


async def begun(sagemaker: Service, name: str, word: str = "begun") -> None:
    while sagemaker.engine.get(name).state is not State.RUNNING or word not in sagemaker.log(name):
        await asyncio.sleep(0.02)


def steps(job: Json) -> list[str]:
    return [step["Status"] for step in job["SecondaryStatusTransitions"]]


class TestCompleted:
    def test_its_times_follow_one_another_and_it_leaves_no_more_than_it_wrote(
        self, tmp_path: Path
    ) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                job = await sagemaker.run("pass")
                assert steps(job) == [
                    "Starting",
                    "Downloading",
                    "Training",
                    "Uploading",
                    "Completed",
                ]
                for before, after in itertools.pairwise(job["SecondaryStatusTransitions"]):
                    assert before["StartTime"] <= before["EndTime"] == after["StartTime"]
                assert (
                    job["CreationTime"]
                    <= job["TrainingStartTime"]
                    <= job["TrainingEndTime"]
                    == job["LastModifiedTime"]
                )
                assert job["BillableTimeInSeconds"] == job["TrainingTimeInSeconds"] >= 1
                assert "FailureReason" not in job
                assert not {"HyperParameters", "CheckpointConfig", "Environment", "VpcConfig"} & {
                    *job
                }
                assert sagemaker.keys("out/") == []  # where nothing is written is no archive
                with pytest.raises(Refusal, match="the training job is in status Completed") as no:
                    sagemaker("StopTrainingJob", TrainingJobName="a-job")
                assert no.value.code == "ValidationException"

        go(story())

    def test_all_instances_share_the_archives(self, tmp_path: Path) -> None:
        script = """
import json, os, pathlib
host = json.load(open("/opt/ml/input/config/resourceconfig.json"))["current_host"]
for folder in ("/opt/ml/model", "/opt/ml/output/data"):
    pathlib.Path(folder, host).mkdir()
    pathlib.Path(folder, host, "own").write_text(host)
    pathlib.Path(folder, "same").write_text(host)
"""

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                await sagemaker.run(script, instances=2)
                everything = {"algo-1/own": b"algo-1", "algo-2/own": b"algo-2", "same": b"algo-1"}
                assert sagemaker.keys("out/") == [
                    "out/a-job/output/model.tar.gz",
                    "out/a-job/output/output.tar.gz",
                ]
                for archive in sagemaker.keys("out/"):
                    assert sagemaker.archive(archive) == everything

        go(story())

    def test_without_compression_the_files_themselves_are_the_model(self, tmp_path: Path) -> None:
        script = "import os; os.mkdir('/opt/ml/model/a'); open('/opt/ml/model/a/b', 'w').write('x')"

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                output = {"S3OutputPath": f"s3://{BUCKET}/out/", "CompressionType": "NONE"}
                job = await sagemaker.run(script, OutputDataConfig=output)
                assert job["ModelArtifacts"]["S3ModelArtifacts"] == (
                    f"s3://{BUCKET}/out/a-job/output/model/"
                )
                assert sagemaker.keys("out/") == ["out/a-job/output/model/a/b"]

        go(story())

    def test_links_take_nothing_along_from_elsewhere(self, tmp_path: Path) -> None:
        script = """
import os, pathlib, shutil
os.chdir("/opt/ml/model")
pathlib.Path("own").write_text("x")
os.symlink("own", "inside")
os.symlink("/etc/passwd", "outside")
os.symlink("/etc", "folder")
shutil.rmtree("/opt/ml/output/data")
os.symlink("/etc", "/opt/ml/output/data")
"""

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                output = {"S3OutputPath": f"s3://{BUCKET}/out"}
                await sagemaker.run(script, OutputDataConfig=output)
                assert sagemaker.keys("out/") == ["out/a-job/output/model.tar.gz"]
                assert sagemaker.archive("out/a-job/output/model.tar.gz") == {"own": b"x"}
                name = sagemaker.send("b-job", script, OutputDataConfig=output | NONE)
                await sagemaker.end(name)
                assert sagemaker.keys("out/b-job/") == [
                    f"out/b-job/output/model/{name}" for name in ("inside", "own")
                ]

        go(story())


class TestFailed:
    def test_the_failure_file_and_the_exit_code_are_the_reason(self, tmp_path: Path) -> None:
        script = "open('/opt/ml/output/failure', 'w').write('no rows ' * 300); raise SystemExit(3)"

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                job = await sagemaker.run(script, status="Failed")
                reason = job["FailureReason"]
                assert reason.startswith("AlgorithmError: no rows no rows")
                assert reason.endswith(", exit code: 3")
                assert len(reason) == 1024
                assert steps(job)[-2:] == ["Uploading", "Failed"]

        go(story())

    def test_without_a_failure_file_the_last_line_is(self, tmp_path: Path) -> None:
        """Which is empty where the script said nothing; a signal counts as a shell counts it."""
        pipe = "import os; os.mkfifo('/opt/ml/output/failure'); raise SystemExit('no rows')"
        reasons = {  # nobody waits for what comes out of the pipe
            "raise ValueError('no rows')": "AlgorithmError: ValueError: no rows, exit code: 1",
            "raise SystemExit(3)": "AlgorithmError: , exit code: 3",
            pipe: "AlgorithmError: no rows, exit code: 1",
            "import os; os.kill(os.getpid(), 9)": "AlgorithmError: , exit code: 137",
        }

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                names = [sagemaker.send(f"job-{n}", script) for n, script in enumerate(reasons)]
                for name, reason in zip(names, reasons.values(), strict=True):
                    job = await sagemaker.end(name, "Failed")
                    assert job["FailureReason"] == reason

        go(story())

    # Without a launcher: see test_sdk.py.
    @pytest.mark.parametrize(
        "launcher", [pytest.param("torchrun", marks=pytest.mark.slow), "command"]
    )
    def test_with_the_sdks_drivers_the_scripts_own_error_is_the_reason(
        self, tmp_path: Path, launcher: str
    ) -> None:
        from tests.amazon.sagemaker.instances.test_drivers import torchrun

        source = (
            {"command": "python task.py"} if launcher == "command" else {"entry_script": "task.py"}
        )

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                sent = sdk3(
                    sagemaker,
                    tmp_path,
                    {"task.py": "print('reading')\nraise ValueError('no rows in train.npz')"},
                    torchrun() if launcher == "torchrun" else None,
                    **source,
                )
                name = sagemaker.create(**request(**sent))
                job = await sagemaker.end(name, "Failed")
                assert job["FailureReason"] == (
                    "AlgorithmError: ValueError: no rows in train.npz, exit code: 1"
                ), sagemaker.log(name)

        go(story())

    def test_a_requirement_that_is_not_met_is_named(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                sent = sdk3(
                    sagemaker,
                    tmp_path,
                    {"task.py": "", "requirements.txt": "no-such-package"},
                    entry_script="task.py",
                    requirements="requirements.txt",
                )
                name = sagemaker.create(**request(**sent))
                job = await sagemaker.end(name, "Failed")
                assert "no-such-package was not found in the cache" in job["FailureReason"]

        go(story())

    def test_an_image_alone_is_refused(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                job = await sagemaker.end(sagemaker.create(**request()), "Failed")
                assert job["FailureReason"].startswith("ClientError: 763104351884.dkr")
                assert "is named, not pulled" in job["FailureReason"]
                assert steps(job) == ["Starting", "Downloading", "Failed"]

        go(story())

    def test_a_bucket_that_is_gone_at_the_end_fails_the_job(self, tmp_path: Path) -> None:
        script = "open('/opt/ml/model/x', 'w').close()"

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                sagemaker.objects.create_bucket("short-lived", {})
                output = {"S3OutputPath": "s3://short-lived"}
                name = sagemaker.send(script=script, OutputDataConfig=output)
                sagemaker.objects.delete_bucket("short-lived")
                job = await sagemaker.end(name, "Failed")
                assert job["FailureReason"].startswith("ClientError: Artifact upload failed: ")

        go(story())


class TestStopped:
    def test_what_there_is_of_the_model_is_kept(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                name = sagemaker.send(script=WAITS)
                await begun(sagemaker, name)
                sagemaker("StopTrainingJob", TrainingJobName=name)
                job = sagemaker("DescribeTrainingJob", TrainingJobName=name)
                assert job["TrainingJobStatus"] == job["SecondaryStatus"] == "Stopping"
                job = await sagemaker.end(name, "Stopped")
                assert steps(job)[2:] == ["Training", "Stopping", "Uploading", "Stopped"]
                assert sagemaker.archive("out/a-job/output/model.tar.gz") == {"so-far": b"half"}

        go(story())

    def test_also_with_the_sdks_drivers_and_the_toolkit(self, tmp_path: Path) -> None:
        """What passes the script's lines on is not gone before the script."""

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                sent = sdk3(sagemaker, tmp_path, {"task.py": ENDS_SLOWLY}, entry_script="task.py")
                sagemaker.create(**request("three", **sent))
                sent = sdk2(sagemaker, {"task.py": ENDS_SLOWLY})
                sagemaker.create(**request("two", HyperParameters=sent))
                for name in ("three", "two"):
                    await begun(sagemaker, name, "\nbegun")
                    sagemaker("StopTrainingJob", TrainingJobName=name)
                    await sagemaker.end(name, "Stopped")
                    model = sagemaker.archive(f"out/{name}/output/model.tar.gz")
                    assert model == {"so-far": b"half"}
                    lines = sagemaker.log(name).splitlines()
                    assert lines[-3:] == ["begun", "is asked to end", "has kept everything"]

        go(story())

    def test_a_job_in_the_queue_stops_at_once(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path, cores=1) as sagemaker:
                sagemaker.send("first", WAITS)
                sagemaker.send("second")
                await begun(sagemaker, "first")
                job = sagemaker("DescribeTrainingJob", TrainingJobName="second")
                assert job["TrainingJobStatus"] == "InProgress"
                assert job["SecondaryStatus"] == "Starting"
                message = job["SecondaryStatusTransitions"][0]["StatusMessage"]
                assert "waits for its turn" in message
                sagemaker("StopTrainingJob", TrainingJobName="second")
                job = await sagemaker.end("second", "Stopped")
                assert steps(job) == ["Starting", "Stopped"]
                assert "TrainingStartTime" not in job
                sagemaker("StopTrainingJob", TrainingJobName="first")
                await sagemaker.end("first", "Stopped")

        go(story())

    def test_when_its_time_is_up_it_has_not_failed(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                limit = {"MaxRuntimeInSeconds": 1}
                job = await sagemaker.run(WAITS, status="Stopped", StoppingCondition=limit)
                assert job["SecondaryStatus"] == "MaxRuntimeExceeded"
                assert "FailureReason" not in job
                assert sagemaker.archive("out/a-job/output/model.tar.gz") == {"so-far": b"half"}

        go(story())


class TestMetrics:
    def test_the_latest_value_of_each_is_kept(self, tmp_path: Path) -> None:
        script = (
            "for epoch in range(3): print(f'loss={1 / (epoch + 1)};')\n"
            "print('accuracy = 0.75'); print('accuracy = none')"
        )

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                wanted = [
                    {"Name": "loss", "Regex": "loss=(.*?);"},
                    {"Name": "accuracy", "Regex": r"accuracy = (\S+)"},
                    {"Name": "absent", "Regex": "absent=(.*)"},
                ]
                algorithm = {"MetricDefinitions": wanted}
                job = await sagemaker.run(script, AlgorithmSpecification=algorithm)
                values = {one["MetricName"]: one["Value"] for one in job["FinalMetricDataList"]}
                assert values == {"loss": 1 / 3, "accuracy": 0.75}
                for one in job["FinalMetricDataList"]:
                    assert job["CreationTime"] < one["Timestamp"] <= job["TrainingEndTime"]

        go(story())
