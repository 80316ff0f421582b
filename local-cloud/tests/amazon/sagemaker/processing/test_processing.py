"""Processing jobs: a script on files of S3, sent by boto3 and by version 3 of the SDK."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_cloud.client.control import Status
from local_cloud.json_types import Json
from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.conftest import SharedService
from tests.amazon.sagemaker.support import ROLE, Refusal, go, running

BUCKET = "processed"
IMAGE = "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-scikit-learn:1.2-1-cpu-py3"
CODE, DATA, DONE = (f"/opt/ml/processing/{name}" for name in ("input/code", "data", "done"))


def source(name: str, uri: str, path: str, **more: str) -> Json:
    """An input: the files below a URI at a path of the container."""
    read = {"S3Uri": uri, "LocalPath": path, "S3DataType": "S3Prefix", "S3InputMode": "File"}
    return {"InputName": name, "S3Input": read | more}


def target(name: str, uri: str, path: str, mode: str = "EndOfJob") -> Json:
    """An output: the files at a path of the container, brought below a URI."""
    return {
        "OutputName": name,
        "S3Output": {"S3Uri": uri, "LocalPath": path, "S3UploadMode": mode},
    }


def request(name: str, inputs: Sequence[Json] = (), outputs: Sequence[Json] = ()) -> Json:
    """A request for a job that runs the script of its input `code`."""
    return {
        "ProcessingJobName": name,
        "RoleArn": ROLE,
        "ProcessingInputs": list(inputs),
        "ProcessingOutputConfig": {"Outputs": list(outputs)},
        "ProcessingResources": {
            "ClusterConfig": {
                "InstanceType": "ml.m5.large",
                "InstanceCount": 1,
                "VolumeSizeInGB": 30,
            }
        },
        "AppSpecification": {
            "ImageUri": IMAGE,
            "ContainerEntrypoint": ["python3", f"{CODE}/task.py"],
        },
    }


@pytest.fixture(scope="module")
def bucket(cloud: Status) -> str:
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    return BUCKET


def put(key: str, text: str) -> str:
    """Make an object; return its URI."""
    boto3.client("s3").put_object(Bucket=BUCKET, Key=key, Body=text.encode())
    return f"s3://{BUCKET}/{key}"


def read(key: str) -> str:
    return str(boto3.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read().decode())


def keys(prefix: str) -> list[str]:
    objects = boto3.client("s3").list_objects_v2(Bucket=BUCKET, Prefix=prefix)
    return [each["Key"] for each in objects.get("Contents", [])]


def send(script: str, inputs: Sequence[Json] = (), instances: int = 1, **more: Any) -> str:
    """Send a job that runs this script; its output `done` is brought to s3://processed/NAME."""
    name = serving.named("processing")
    code = source("code", put(f"{name}-code/task.py", script), CODE)
    wanted = request(name, [code, *inputs], [target("done", f"s3://{BUCKET}/{name}", DONE)])
    wanted["ProcessingResources"]["ClusterConfig"]["InstanceCount"] = instances
    wanted["AppSpecification"] |= more.pop("AppSpecification", {})
    boto3.client("sagemaker").create_processing_job(**wanted | more)
    return name


def ended(name: str, status: str = "Completed") -> Any:
    """The job's description when it has ended."""
    client, end = boto3.client("sagemaker"), time.monotonic() + 60
    while time.monotonic() < end:
        job = client.describe_processing_job(ProcessingJobName=name)
        if job["ProcessingJobStatus"] not in ("InProgress", "Stopping"):
            assert job["ProcessingJobStatus"] == status, job.get("FailureReason")
            return job
        time.sleep(0.02)
    raise AssertionError(job)


TALKS = """
import json, os, pathlib, sys
rows = pathlib.Path("/opt/ml/processing/data/rows.csv").read_text().split()
config = json.load(open("/opt/ml/config/processingjobconfig.json"))
print("job", config["ProcessingJobName"], "has", len(rows), "rows")
done = pathlib.Path("/opt/ml/processing/done")
(done / "deep").mkdir()
(done / "deep/answer.txt").write_text(f"{len(rows)} {sys.argv[1:]} {os.environ['COLOUR']}")
pathlib.Path("/opt/ml/output/message").write_text("three rows")
"""


def test_a_script_reads_its_inputs_and_its_outputs_are_brought_to_s3(bucket: str) -> None:
    rows = source("rows", put("rows/rows.csv", "1\n2\n3\n"), DATA)
    arguments = {"ContainerArguments": ["--share", "0.5"]}
    name = send(TALKS, [rows], AppSpecification=arguments, Environment={"COLOUR": "blue"})
    job = ended(name)
    assert read(f"{name}/deep/answer.txt") == "3 ['--share', '0.5'] blue"
    assert job["ExitMessage"] == "three rows"
    assert job["CreationTime"] <= job["ProcessingStartTime"] <= job["ProcessingEndTime"]
    assert job["StoppingCondition"] == {"MaxRuntimeInSeconds": 24 * 3600}
    listed = boto3.client("sagemaker").list_processing_jobs(NameContains=name)
    (summary,) = listed["ProcessingJobSummaries"]
    assert summary["ProcessingJobArn"] == job["ProcessingJobArn"]
    assert summary["ProcessingJobStatus"] == "Completed"
    # Its log is in a group of its own, and it is no training job.
    logs = boto3.client("logs").filter_log_events(
        logGroupName="/aws/sagemaker/ProcessingJobs", logStreamNamePrefix=f"{name}/"
    )
    assert f"job {name} has 3 rows" in [event["message"] for event in logs["events"]]
    trained = boto3.client("sagemaker").list_training_jobs(NameContains=name)
    assert trained["TrainingJobSummaries"] == []


SHARES = """
import json, pathlib
own = json.load(open("/opt/ml/config/resourceconfig.json"))
names = sorted(path.name for path in pathlib.Path("/opt/ml/processing/data").iterdir())
host = own["current_host"]
assert own["hosts"] == ["algo-1", "algo-2"]
pathlib.Path(f"/opt/ml/processing/done/{host}.json").write_text(json.dumps(names))
"""


def test_instances_share_the_objects_out(bucket: str) -> None:
    for letter in "abcd":
        put(f"letters/{letter}.txt", letter)
    detour = DATA.replace("ml/", "ml//./")  # the same folder
    shared = source(
        "letters", f"s3://{BUCKET}/letters/", detour, S3DataDistributionType="ShardedByS3Key"
    )
    name = send(SHARES, [shared], instances=2)
    ended(name)
    parts = [json.loads(read(key)) for key in keys(f"{name}/")]
    assert len(parts) == 2 and [len(part) for part in parts] == [2, 2]
    assert sorted(parts[0] + parts[1]) == ["a.txt", "b.txt", "c.txt", "d.txt"]


def test_a_failure_names_the_scripts_own_error_and_brings_nothing(bucket: str) -> None:
    name = send(f"open('{DONE}/half', 'w').write('x')\nraise ValueError('no rows')")
    assert ended(name, "Failed")["FailureReason"] == (
        "AlgorithmError: ValueError: no rows, exit code: 1"
    )
    assert keys(f"{name}/") == []
    missing = send("pass", [source("rows", f"s3://{BUCKET}/nowhere/", DATA)])
    assert "nothing is left below s3://processed/nowhere/" in ended(missing, "Failed")[
        "FailureReason"
    ]  # fmt: skip


SLEEPS = "import time\nprint('asleep', flush=True)\ntime.sleep(600)"


def test_a_job_is_stopped_on_request_and_when_its_time_is_up(bucket: str) -> None:
    client = boto3.client("sagemaker")
    stopped, late = send(SLEEPS), send(SLEEPS, StoppingCondition={"MaxRuntimeInSeconds": 1})
    client.stop_processing_job(ProcessingJobName=stopped)
    ended(stopped, "Stopped")
    with pytest.raises(client.exceptions.ClientError, match="is in status Stopped"):
        client.stop_processing_job(ProcessingJobName=stopped)
    ended(late, "Stopped")


def test_scripts_find_their_folders_with_and_without_mounts(how: str, tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            inputs = [
                source("code", sagemaker.put("code/task.py", TALKS), CODE),
                source("rows", sagemaker.put("rows/rows.csv", "1\n2\n"), DATA),
            ]
            wanted = request("a-job", inputs, [target("done", "s3://a-bucket/done", DONE)])
            sagemaker("CreateProcessingJob", **wanted | {"Environment": {"COLOUR": how}})
            job = sagemaker.engine.get("processing.a-job")
            while not job.state.ended:
                job = await sagemaker.engine.wait_for_change(job, 60)
            ended_job = sagemaker("DescribeProcessingJob", ProcessingJobName="a-job")
            assert ended_job["ProcessingJobStatus"] == "Completed", ended_job.get("FailureReason")
            assert sagemaker.read("done/deep/answer.txt").decode() == f"2 [] {how}"
            assert ended_job["ExitMessage"] == "three rows"

    go(story())


def changed(wanted: Json, path: str, value: Any) -> Json:
    """The request with the member at a path, `A.0.B`, set to this."""
    made: Any = json.loads(json.dumps(wanted))
    here: Any = made
    *parents, last = path.split(".")
    for part in parents:
        here = here[int(part)] if part.isdigit() else here[part]
    here[last] = value
    return dict(made)


OUTPUT, INPUT = "ProcessingOutputConfig.Outputs.0", "ProcessingInputs.0"
CLUSTER = "ProcessingResources.ClusterConfig"
OWN_DISK = {
    "InstanceType": "ml.g4dn.xlarge",
    "InstanceCount": 1,
    "VolumeSizeInGB": 1,
    "VolumeKmsKeyId": "a-key",
}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (f"{INPUT}.S3Input.S3InputMode", "Pipe", "S3InputMode Pipe; use File"),
        (f"{INPUT}.S3Input.S3CompressionType", "Gzip", "S3CompressionType Gzip; use None"),
        (f"{INPUT}.S3Input.LocalPath", "/etc", "'/etc' must begin with /opt/ml/processing/"),
        (f"{INPUT}.S3Input.LocalPath", "/opt/ml/processing/../../x", "must begin with"),
        (f"{INPUT}.S3Input.LocalPath", "/opt/ml/processing/done", "is given twice"),
        (f"{INPUT}.S3Input.S3Uri", "s3://nobodys/x", "make the bucket first"),
        (f"{INPUT}.AppManaged", True, "AppManaged; use S3Input"),
        (f"{INPUT}.InputName", "other", "two have the name other"),
        (f"{OUTPUT}.S3Output.S3UploadMode", "Continuous", "use EndOfJob"),
        (f"{OUTPUT}.S3Output.LocalPath", "/opt/ml/model", "must begin with"),
        (f"{CLUSTER}.InstanceCount", None, "needs an InstanceType and an InstanceCount"),
        (CLUSTER, OWN_DISK, "VolumeKmsKeyId cannot be requested for ml.g4dn.xlarge"),
        (f"{CLUSTER}.InstanceType", "ml.none", "Member must satisfy enum value set"),
    ],
)
def test_what_cannot_run_is_refused_at_once(
    shared: SharedService, path: str, value: Any, said: str
) -> None:
    where = shared.put("rows.csv", "1")
    inputs = [source("rows", where, DATA), source("other", where, CODE)]
    wanted = request("refused", inputs, [target("done", "s3://a-bucket/done", DONE)])
    with pytest.raises(Refusal) as refused:
        shared("CreateProcessingJob", **changed(wanted, path, value))
    assert said in str(refused.value)


def test_a_name_is_used_once_and_an_unknown_one_is_not_found(shared: SharedService) -> None:
    shared("CreateProcessingJob", **request("only-one"))
    with pytest.raises(Refusal, match="already exists"):
        shared("CreateProcessingJob", **request("only-one"))
    with pytest.raises(Refusal, match="Could not find requested job with name: nobody"):
        shared("DescribeProcessingJob", ProcessingJobName="nobody")


def test_the_sdk_sends_a_script_and_prints_its_log(
    bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        from sagemaker.core.helper.session_helper import Session
        from sagemaker.core.processing import ScriptProcessor, logs_for_processing_job
        from sagemaker.core.shapes import (
            ProcessingInput,
            ProcessingOutput,
            ProcessingS3Input,
            ProcessingS3Output,
        )

    (tmp_path / "prepare.py").write_text(TALKS)
    (tmp_path / "rows.csv").write_text("1\n2\n")
    session = Session(default_bucket=BUCKET)
    processor = ScriptProcessor(
        role=ROLE,
        image_uri=IMAGE,
        command=["python3"],
        instance_type="ml.m5.large",
        instance_count=1,
        env={"COLOUR": "red"},
        sagemaker_session=session,
    )
    rows = ProcessingInput(
        input_name="rows",
        s3_input=ProcessingS3Input(
            s3_uri=str(tmp_path / "rows.csv"),
            local_path=DATA,
            s3_data_type="S3Prefix",
            s3_input_mode="File",
        ),
    )
    done = ProcessingOutput(
        output_name="done",
        s3_output=ProcessingS3Output(
            s3_uri=f"s3://{BUCKET}/by-sdk", local_path=DONE, s3_upload_mode="EndOfJob"
        ),
    )
    processor.run(
        code=str(tmp_path / "prepare.py"),
        inputs=[rows],
        outputs=[done],
        arguments=["--more"],
        wait=False,  # the SDK looks every half minute only
    )
    job = processor.latest_job
    ended(job.processing_job_name)
    logs_for_processing_job(session, job.processing_job_name)
    assert read("by-sdk/deep/answer.txt") == "2 ['--more'] red"
    assert "has 2 rows" in capsys.readouterr().out
    assert job.refresh().processing_job_status == "Completed"
