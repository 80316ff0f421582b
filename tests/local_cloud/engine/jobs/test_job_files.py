"""Each way from a job's files to an answer, a page or a record: no link, and no secret, gets out.

WAYS lists them all. A new way is added there: what a job writes, and where it would be shown.
"""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import boto3
import pytest

from local_cloud.client.control import Status
from tests.local_cloud.console.visitor import Visitor

BUCKET = "ways-out"
PRIVATE = "words-of-a-private-file"
VERTEX_IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8-cpu-py312"
ROLE = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
KINDS = ("secret", "link", "hard link", "link above")

# put(path, form): has the environment, or a link to the private file, at a path; {} is its text.
PUT = """
import contextlib, os, pathlib, shutil, socket, sys, time
log = os.readlink("/proc/self/fd/1")
own = os.path.dirname(log)
def put(path, form="{}"):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent.resolve() != path.parent:
        return
    if KIND == "secret":
        said = os.environ["AWS_ENDPOINT_URL"].split("/")[3]
        path.write_text(form.replace("{}", said))
        return
    with contextlib.suppress(OSError):
        path.unlink()
    with contextlib.suppress(OSError):
        if KIND == "link":
            path.symlink_to(PRIVATE)
        elif KIND == "hard link":
            os.link(PRIVATE, path)
        else:
            shutil.rmtree(path.parent)
            path.parent.symlink_to(os.path.dirname(PRIVATE))
"""
ML = 'own + "/algo-1/ml/"'  # /opt/ml by a path on which hard links can be made
FAILS = f"""
put({ML} + "output/failure", "it failed: {{}}")
put({ML} + "output/data/failure", "it failed: {{}}")
sys.exit(3)
"""
SAYS = "print(os.environ['AWS_ENDPOINT_URL'] if KIND == 'secret' else 'nothing'); sys.exit(3)"
SUCCEEDS = f"""
for name in ("model/weights", "model/inner/weights", "output/data/weights"):
    put({ML} + name)
put({ML} + "model/history.csv", "epoch,{{}}\\n1,2\\n")
put({ML} + "model/metrics.json", '{{"configuration": {{"flag": "{{}}"}}}}')
"""
PROCESSES = """
put("/opt/ml/output/message", "it said: {}")
put(own + "/algo-1/ml/output/message", "it said: {}")
put("/opt/ml/processing/out/inner/result")
"""
WRITES_TO_BUCKET = f"""
for name, form in {{
    "metrics.json": '{{"configuration": {{"flag": "{{}}"}}}}',
    "history.csv": "epoch,{{}}\\n1,2\\n",
    "text.txt": "{{}}",
    "table.csv": "a,b\\n{{}},2\\n",
}}.items():
    put("/gcs/{BUCKET}/" + KIND + "/model/" + name, form)
"""


@dataclass
class Sent:
    """Jobs that have all written the same into every place, and ways to look at them."""

    cloud: Status
    kind: str
    private: Path
    jobs: dict[str, str] = field(default_factory=dict)  # ids by what they do

    @property
    def secret(self) -> str:
        return self.cloud.home.secret()

    def code(self, text: str) -> str:
        return f"KIND = {self.kind!r}\nPRIVATE = {str(self.private)!r}\n{PUT}\n{text}"

    def page(self, path: str) -> str:
        answer = Visitor.of(self.cloud).get(f"/console/{path}")
        assert answer.status == 200, answer.text
        return answer.text

    def script(self, name: str, text: str) -> str:
        """Bring a job's code to S3; returns its URI."""
        body = self.code(text).encode()
        boto3.client("s3").put_object(Bucket=BUCKET, Key=f"{name}/task.py", Body=body)
        return f"s3://{BUCKET}/{name}/"

    def train(self, name: str, text: str, **fields: Any) -> str:
        """Run a training job of SageMaker's to its end; returns its name."""
        sagemaker, name = boto3.client("sagemaker"), f"{name}-{self.kind.replace(' ', '-')}"
        chosen = {
            "TrainingInputMode": "File",
            "TrainingImage": IMAGE,
            "ContainerEntrypoint": ["python3", "/opt/ml/input/data/code/task.py"],
        }
        source = {"S3DataType": "S3Prefix", "S3Uri": self.script(name, text)}
        sagemaker.create_training_job(
            TrainingJobName=name,
            RoleArn=ROLE,
            AlgorithmSpecification=chosen | fields.pop("AlgorithmSpecification", {}),
            InputDataConfig=[{"ChannelName": "code", "DataSource": {"S3DataSource": source}}],
            OutputDataConfig={"S3OutputPath": f"s3://{BUCKET}/out"} | fields,
            ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
            StoppingCondition={"MaxRuntimeInSeconds": 600},
        )
        _until(lambda: self.described(name)["TrainingJobStatus"] not in ("InProgress", "Stopping"))
        return name

    def described(self, name: str) -> Any:
        return boto3.client("sagemaker").describe_training_job(TrainingJobName=name)

    def process(self, text: str) -> str:
        """Run a processing job to its end; returns its name."""
        sagemaker, name = boto3.client("sagemaker"), f"process-{self.kind.replace(' ', '-')}"
        code = {"S3DataType": "S3Prefix", "S3InputMode": "File", "S3Uri": self.script(name, text)}
        code["LocalPath"] = "/opt/ml/processing/code"
        target = {"S3Uri": f"s3://{BUCKET}/processed-{self.kind}", "S3UploadMode": "EndOfJob"}
        output = {"OutputName": "o", "S3Output": target | {"LocalPath": "/opt/ml/processing/out"}}
        cluster = {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 1}
        sagemaker.create_processing_job(
            ProcessingJobName=name,
            RoleArn=ROLE,
            AppSpecification={
                "ImageUri": IMAGE,
                "ContainerEntrypoint": ["python3", "/opt/ml/processing/code/task.py"],
            },
            ProcessingInputs=[{"InputName": "code", "S3Input": code}],
            ProcessingResources={"ClusterConfig": cluster},
            ProcessingOutputConfig={"Outputs": [output]},
        )
        _until(lambda: self.processed(name)["ProcessingJobStatus"] not in ("InProgress",))
        return name

    def processed(self, name: str) -> Any:
        return boto3.client("sagemaker").describe_processing_job(ProcessingJobName=name)

    def vertex(self, text: str, *, stays: bool = False) -> str:
        """Run a custom job of Vertex AI's to its end; returns its id."""
        from google.cloud import aiplatform

        aiplatform.init(project="ways", location="us-central1", staging_bucket=f"gs://{BUCKET}")
        pool = {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": 1,
            "container_spec": {
                "image_uri": VERTEX_IMAGE,
                "command": ["python", "-c", self.code(text)],
            },
        }
        job = aiplatform.CustomJob(
            display_name="way",
            worker_pool_specs=[pool],
            base_output_dir=f"gs://{BUCKET}/{self.kind}",
        )
        job.submit()
        if not stays:
            _until(lambda: job.state.name in ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED"))
        return str(job.resource_name)

    def objects(self, prefix: str) -> dict[str, bytes]:
        """What is in S3 below a prefix; of archives what is in them."""
        s3, found = boto3.client("s3"), {}
        for each in s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", []):
            key, content = each["Key"], s3.get_object(Bucket=BUCKET, Key=each["Key"])["Body"].read()
            if key.endswith(".gz"):
                with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                    for member in filter(tarfile.TarInfo.isfile, archive):
                        inside = archive.extractfile(member)
                        found[f"{key}/{member.name}"] = inside.read() if inside else b""
            else:
                found[key] = content
        return found


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the user's: what it holds must be nowhere."""
    path = tmp_path_factory.mktemp("private") / "failure"
    path.write_text(f"epoch,{PRIVATE}\n1,42.5\nloss=42.5\n")
    for name in ("weights", "history.csv", "metrics.json", "message", "result", "text.txt"):
        (path.parent / name).write_text(path.read_text())
    return path


@pytest.fixture(scope="module", params=KINDS)
def sent(cloud: Status, private: Path, request: pytest.FixtureRequest) -> Sent:
    """Jobs that write one kind of file everywhere."""
    from google.cloud import storage

    boto3.client("s3").create_bucket(Bucket=BUCKET)
    if not storage.Client().lookup_bucket(BUCKET):
        storage.Client().create_bucket(BUCKET)
    here = Sent(cloud, request.param, private)
    none = {"CompressionType": "NONE"}
    regex = {"MetricDefinitions": [{"Name": "loss", "Regex": "loss=([0-9.]+)"}]}
    here.jobs = {
        "fails": here.train("fails", FAILS),
        "says": here.train("says", SAYS, AlgorithmSpecification=regex),
        "succeeds": here.train("succeeds", SUCCEEDS),
        "files": here.train("files", SUCCEEDS, **none),
        "processes": here.process(PROCESSES),
        "vertex says": here.vertex(SAYS),
        "vertex writes": here.vertex(WRITES_TO_BUCKET),
    }
    return here


def _of_failure(here: Sent) -> str:
    return str(here.described(here.jobs["fails"])["FailureReason"])


def _of_last_line(here: Sent) -> str:
    return str(here.described(here.jobs["says"])["FailureReason"])


def _of_message(here: Sent) -> str:
    found = here.processed(here.jobs["processes"])
    return f"{found.get('ExitMessage')} {found.get('FailureReason')}"


def _of_vertex_error(here: Sent) -> str:
    from google.cloud import aiplatform

    found = aiplatform.CustomJob.get(here.jobs["vertex says"])
    return str(found.error)


def _of_log(here: Sent) -> str:
    job = here.jobs["vertex says"].rpartition("/")[2]
    return here.page(f"jobs/{job}") + here.page(f"jobs/{job}/log?replica=workerpool0-0&from=0")


def _of_cloudwatch(here: Sent) -> str:
    logs = boto3.client("logs")
    return str(logs.filter_log_events(logGroupName="/aws/sagemaker/TrainingJobs")["events"])


def _of_cloud_logging(here: Sent) -> str:
    return json.dumps(entries(here.cloud, "ways"))


def _of_page(here: Sent) -> str:
    return here.page(f"jobs/{here.jobs['succeeds']}")


def _of_page_of_results(here: Sent) -> str:
    return here.page(f"jobs/{here.jobs['vertex writes'].rpartition('/')[2]}")


def _of_list(here: Sent) -> str:
    return here.page("jobs")


def _of_previews(here: Sent) -> str:
    visitor = Visitor.of(here.cloud)
    shown = ""
    for name in ("text.txt", "metrics.json", "history.csv", "table.csv"):
        key = quote(f"{here.kind}/model/{name}")
        shown += visitor.get(f"/console/object?scheme=gs&name={BUCKET}&key={key}").text
    return shown


def entries(cloud: Status, project: str) -> list[Any]:
    """What Cloud Logging lists of a project."""
    url = f"{cloud.home.url(cloud.port)}/v2/entries:list"
    body = json.dumps({"resourceNames": [f"projects/{project}"]}).encode()
    with urlopen(Request(url, body, {"Content-Type": "application/json"})) as answer:
        return list(json.loads(answer.read())["entries"])


# What shows a text of a job: its place, and how one looks there.
WAYS: dict[str, Callable[[Sent], str]] = {
    "FailureReason, from /opt/ml/output/failure": _of_failure,
    "FailureReason, from the log": _of_last_line,
    "ExitMessage, from /opt/ml/output/message": _of_message,
    "error of a custom job, from its log": _of_vertex_error,
    "the log in the console": _of_log,
    "the log in CloudWatch Logs": _of_cloudwatch,
    "the log in Cloud Logging": _of_cloud_logging,
    "metrics.json and history.csv of a training job in the console": _of_page,
    "metrics.json and history.csv of a custom job in the console": _of_page_of_results,
    "the console's list of jobs": _of_list,
    "previews of objects in the console": _of_previews,
}


@pytest.mark.parametrize("way", WAYS)
def test_neither_the_secret_nor_another_file_is_shown(sent: Sent, way: str) -> None:
    shown = WAYS[way](sent)
    assert sent.secret not in shown and sent.secret[:20] not in shown
    assert PRIVATE not in shown and "42.5" not in shown


@pytest.mark.parametrize("way", [*WAYS][:5])
def test_what_else_a_job_said_is_shown(sent: Sent, way: str) -> None:
    if sent.kind == "secret":
        assert "SECRET*" in WAYS[way](sent)


@pytest.mark.parametrize("prefix", ["out/succeeds", "out/files", "processed"])
def test_what_is_collected_takes_nothing_along_from_elsewhere(sent: Sent, prefix: str) -> None:
    kind = sent.kind if prefix == "processed" else sent.kind.replace(" ", "-")
    found = sent.objects(f"{prefix}-{kind}")
    assert not any(PRIVATE.encode() in content for content in found.values()), [*found]
    if sent.kind == "secret":  # a file of the job's own is kept as it wrote it
        assert any(key.endswith(("weights", "result")) for key in found)
