"""Each way from a job's files to an answer, a page or a record: no link, and no secret, gets out.

WAYS lists them all. A new way is added there: what a job writes, and where it would be shown.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import boto3
import pytest

from local_cloud.amazon.sagemaker.jobs import launch, metrics
from local_cloud.amazon.sagemaker.pipelines.runner import PipelineRunner
from local_cloud.client.control import Status
from local_cloud.console.records import job_curves, results
from local_cloud.console.records.curves import Curves
from local_cloud.console.records.job_curves import JobCurves
from local_cloud.engine.isolation import roots
from local_cloud.engine.logs import job_files
from local_cloud.engine.processes.replica import last_lines
from local_cloud.engine.spec import EngineError
from local_cloud.google.vertex.automl.trainings import AutoMl
from local_cloud.google.vertex.pipelines import container
from local_cloud.google.vertex.tuning import metrics as vertex_metrics
from testing.visitor import Visitor

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
    if KIND == "secret":
        said = os.environ["AWS_ENDPOINT_URL"].split("/")[3]
        path.write_text(form.replace("{}", said))
        return
    if path.parent.resolve() != path.parent:  # nothing is written through a link of before
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
# A hard link in a bucket is an object as a copy is: where nothing is mounted a job can make both.
WRITES_TO_BUCKET = f"""
if KIND == "hard link":
    sys.exit()
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
        s3, contents = boto3.client("s3"), {}
        for each in s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", []):
            key, content = each["Key"], s3.get_object(Bucket=BUCKET, Key=each["Key"])["Body"].read()
            if key.endswith(".gz"):
                with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                    for member in filter(tarfile.TarInfo.isfile, archive):
                        inside = archive.extractfile(member)
                        contents[f"{key}/{member.name}"] = inside.read() if inside else b""
            else:
                contents[key] = content
        return contents


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
    job = here.processed(here.jobs["processes"])
    return f"{job.get('ExitMessage')} {job.get('FailureReason')}"


def _of_vertex_error(here: Sent) -> str:
    from google.cloud import aiplatform

    job = aiplatform.CustomJob.get(here.jobs["vertex says"])
    return str(job.error)


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
    contents = sent.objects(f"{prefix}-{kind}")
    assert not any(PRIVATE.encode() in content for content in contents.values()), [*contents]
    if sent.kind == "secret":  # a file of the job's own is kept as it wrote it
        assert any(key.endswith(("weights", "result")) for key in contents)


# ---- ways that need no job: what reads the file is called, on a folder like a job's --------------
@dataclass
class Folder:
    """A job's folder, in whose place of each file there is the secret or a link."""

    root: Path
    private: Path
    kind: str
    hidden: bytes = b"c2VjcmV0-of-the-local-cloud_in-every-url"

    def put(self, below: str, form: str = "{}") -> Path:
        """Have such a file at a path in the folder."""
        path = self.root / "job" / below
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.kind == "secret":
            path.write_text(form.replace("{}", self.hidden.decode()))
        elif self.kind == "link":
            path.symlink_to(self.private)
        elif self.kind == "hard link":
            path.hardlink_to(self.private)
        else:
            path.parent.rmdir()
            path.parent.symlink_to(self.private.parent)
        return path


@pytest.fixture(params=KINDS)
def folder(tmp_path: Path, private: Path, request: pytest.FixtureRequest) -> Folder:
    (tmp_path / "job").mkdir()
    return Folder(tmp_path, private, request.param)


def _read_metric_names(here: Folder) -> str:
    file = here.put("inner/failure", '{"{}": 1}\n')
    return str(vertex_metrics.reports(file, here.hidden))


def _read_report(here: Folder) -> str:
    here.put(f"algo-1/ml/{launch.REPORT}", '{"stage": "{}"}')
    return str(launch.report(here.root / "job", here.hidden))


def _read_last_lines(here: Folder) -> str:
    return str(last_lines(here.put("inner/failure"), hidden=here.hidden))


def _search_metrics(here: Folder) -> str:
    log = here.put("inner/failure", "nothing")
    return str(metrics.values("loss=([0-9.]+)", log, 60))


def _read_curves(here: Folder) -> str:
    log = here.put("inner/failure", "epoch 1 loss 0.5")
    return str(Curves().of(log)) + str(results.of_job(_platform({"r0": log}, here), "job"))


def _read_curves_of_instance(here: Folder) -> str:
    here.put(f"r0/{job_curves.INSTANCE_MODEL}/history.csv", "epoch,loss\n1,2\n")
    series = JobCurves(_platform({"r0": here.root / "job/r0.log"}, here))._of_instance(_shown())
    return str(series)


def _read_output_of_a_task(here: Folder) -> str:
    path = here.put("inner/failure", '{"parameterValues": {"a": "{}"}}')
    objects = SimpleNamespace(get=lambda *_: SimpleNamespace(path=path))
    if here.kind != "secret":  # the store finds no object where a link is (test_objects.py)
        return ""
    return str(container._json(objects, "gs://b/o", here.hidden))  # type: ignore[arg-type]


def _read_property_file(here: Folder) -> str:
    path = here.put("inner/failure")
    kinds = SimpleNamespace(training=SimpleNamespace(engine=_engine({}, here)))
    objects = SimpleNamespace(get=lambda *_: SimpleNamespace(path=path))
    if here.kind != "secret":  # as above
        return ""
    runner: Any = SimpleNamespace(_objects=objects, _kinds=kinds)
    return PipelineRunner._read(runner, "s3://b/evaluation.json")


def _read_evaluation(here: Folder) -> str:
    here.put("inner/failure", '{"model": "{}"}')
    trainings: Any = SimpleNamespace(engine=_engine({}, here), _folder=here.root)
    with contextlib.suppress(EngineError):  # there is none that can be read
        return str(AutoMl._read(trainings, _shown().job, "inner/failure"))
    return ""


def _shown() -> Any:
    return SimpleNamespace(job=SimpleNamespace(id="job"))


def _engine(logs: dict[str, Path], here: Folder) -> Any:
    return SimpleNamespace(logs=lambda _: logs, hidden=here.hidden)


def _platform(logs: dict[str, Path], here: Folder) -> Any:
    return SimpleNamespace(engine=_engine(logs, here))


READERS: dict[str, Callable[[Folder], str]] = {
    "names of a trial's metrics": _read_metric_names,
    "the report of an Autopilot job": _read_report,
    "the last lines of a log in an outcome": _read_last_lines,
    "metrics that regular expressions find in a log": _search_metrics,
    "curves and results in the console, from a log": _read_curves,
    "curves in the console, from a folder of an instance": _read_curves_of_instance,
    "a property file of SageMaker Pipelines": _read_property_file,
    "what an AutoML training says of its model": _read_evaluation,
    "output parameters and metadata of a pipeline's task": _read_output_of_a_task,
}


@pytest.mark.parametrize("way", READERS)
def test_a_reader_follows_nothing_and_shows_no_secret(folder: Folder, way: str) -> None:
    shown = READERS[way](folder)
    assert folder.hidden.decode() not in shown
    assert PRIVATE not in shown and "42.5" not in shown


# Which modules know where a job's files are. A new one reads them through job_files.py, and its
# way is added to WAYS or READERS above; the others only pass the paths on, or write at the start.
KNOWN = {
    "amazon/logs/streams.py",
    "amazon/sagemaker/autopilot/jobs.py",
    "amazon/sagemaker/instances/layout.py",  # before the job starts
    "amazon/sagemaker/jobs/cloudwatch.py",
    "amazon/sagemaker/jobs/launch.py",
    "amazon/sagemaker/jobs/outputs.py",
    "amazon/sagemaker/jobs/training.py",
    "amazon/sagemaker/processing/jobs.py",
    "amazon/sagemaker/processing/launch.py",  # before the job starts
    "amazon/sagemaker/tuning/tuning.py",
    "console/pages/endpoint_pages.py",
    "console/pages/job_pages.py",
    "console/records/job_curves.py",
    "console/records/jobs.py",
    "console/records/results.py",
    "engine/jobs/attempt_runner.py",
    "engine/jobs/queue.py",
    "engine/processes/replica.py",
    "engine/serving/deployment_replica.py",
    "engine/serving/deployments.py",
    "google/logging/service.py",
    "google/vertex/automl/trainings.py",
    "google/vertex/jobs/training.py",
    "google/vertex/tuning/tuning.py",
}


def test_every_module_that_knows_a_jobs_files_is_known_here() -> None:
    folder = Path(job_files.__file__).parents[2]
    knows = re.compile(r"\.logs?\((job|shown|name|each|replica|deployment)|log_path\(|host\.ml\b")
    modules_that_know = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if knows.search(path.read_text(encoding="utf-8"))
    }
    assert modules_that_know == KNOWN, (
        "add the new way to WAYS or READERS, then the module to KNOWN"
    )


# ---- the door itself -----------------------------------------------------------------------------
KEY = "AKIA" + "ABCDEFGH2345IJKL"
SECRET_KEY = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYab"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("nothing to hide", "nothing to hide"),
        ("http://127.0.0.1:1/the-secret/aws", "http://127.0.0.1:1/SECRET****/aws"),
        (f"id={KEY};", "id=SECRET**************;"),
        (f"AWS_SECRET_ACCESS_KEY={SECRET_KEY}", f"AWS_SECRET_ACCESS_KEY=SECRET{34 * '*'}"),
        (
            f"'aws_secret_access_key': '{SECRET_KEY}'",
            f"'aws_secret_access_key': 'SECRET{34 * '*'}'",
        ),
        (f'{{"SecretAccessKey": "{SECRET_KEY}"}}', f'{{"SecretAccessKey": "SECRET{34 * "*"}"}}'),
        (f"aws_session_token = {120 * 'x'}", f"aws_session_token = SECRET{114 * '*'}"),
        (f"a hash {SECRET_KEY} of 40 characters", f"a hash {SECRET_KEY} of 40 characters"),
        ("half a pair \ud800 the-secret", "half a pair \ud800 SECRET****"),
    ],
)
def test_a_text_is_masked_and_stays_as_long_as_it_was(said: str, shown: str) -> None:
    assert job_files.mask(said, b"the-secret") == shown
    assert len(shown) == len(said)


@pytest.mark.parametrize("end", [False, True])
def test_no_part_of_the_secret_is_left_where_a_text_is_cut(tmp_path: Path, end: bool) -> None:
    hidden = b"0123456789abcdef"
    for before in range(40):
        (tmp_path / "file").write_bytes(b"x" * before + hidden + b"y" * (40 - before))
        shown = job_files.read(tmp_path, "file", most=30, hidden=hidden, end=end)
        assert len(shown) == 30
        assert not {*shown} & {*"0123456789abdf"}


def test_what_is_there_is_not_emptied_before_it_is_known(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("of the user")
    for name, make in {"a": Path.symlink_to, "b": Path.hardlink_to}.items():
        make(tmp_path / name, tmp_path / "kept")
        with pytest.raises(job_files.NotItsOwn, match="something else in the place of its file"):
            job_files.open_own(tmp_path, name, "wb")
    assert (tmp_path / "kept").read_text() == "of the user"
    with job_files.open_own(tmp_path, "new", "wb") as file:
        file.write(b"longer than before")
    with job_files.open_own(tmp_path, "new", "wb") as file:
        file.write(b"new")
    assert (tmp_path / "new").read_text() == "new"


def test_the_file_with_a_links_path_leads_to_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing can be mounted, a file of the job has the path of a link that goes with it."""
    monkeypatch.setattr(roots, "available", lambda: False)
    job = tmp_path / "a job"
    job.mkdir()
    (host,) = launch.hosts(job, 1)
    assert launch.hosts(job, 1) == [host] and host.ml.parents[1].resolve() == job
    kept = tmp_path / "kept"
    kept.write_text("of the user")
    (job / launch.LINK).write_text(str(kept))
    launch.forget(job)
    assert kept.exists() and not (job / launch.LINK).exists()
    host.ml.parents[1].unlink()
    host.ml.parents[2].rmdir()
