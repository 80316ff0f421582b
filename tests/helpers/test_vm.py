"""train_on_vm: the request for a VM, and its start-up script on both clouds."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar
from urllib.parse import parse_qsl

import boto3
import google.auth
import pytest
from botocore.validate import ParamValidator
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage

from AWS_helpers import machines as ec2
from AWS_helpers import vm as aws_vm
from GCP_helpers import machines as compute_engine
from GCP_helpers import vm as gcp_vm
from lesson import LessonError
from lesson.jobs.request import Request
from lesson.machines import vm
from tests.helpers.sides import SIDES, Side, both_sides


def script_of(request: Request) -> vm.Script:
    """The start-up script in a request."""
    if "insert" in request:
        script = request["insert"]["json"]["metadata"]["items"][0]["value"]
    else:
        script = request["run_instances"]["UserData"]
    assert isinstance(script, vm.Script)
    return script


@both_sides(fast="Amazon")
def test_a_training_that_fails_says_so_with_the_end_of_the_machines_log(
    side: Side, data: dict[str, Any]
) -> None:
    with pytest.raises(LessonError, match=r"ended with code 1; its log ends with:\n"):
        side.helpers.train_on_vm(data | {"epochs": "many"})


def test_a_dry_run_sends_nothing_and_prints_as_python(side: Side, data: dict[str, Any]) -> None:
    request = side.helpers.train_on_vm(data, gpu="T4", spot=True, dry_run=True)
    text, script = repr(request), script_of(request)
    compile(text, "request", "exec")
    assert script.path.read_text() == script and repr(script) in text
    assert "spot" in text.lower() and f"--train={data['train']}" in script
    bucket = request["upload_source"]["uri"].partition("/source")[0]
    session = side.session.current_session()
    assert side.storage.read_text(session, f"{bucket}/{vm.SOURCE}") is None


@pytest.fixture
def aws_request(cloud: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    helpers = SIDES["Amazon"].helpers
    helpers.connect()
    args = {"train": "s3://b/t.npz", "val": "s3://b/v.npz"}
    made = helpers.train_on_vm(args, gpu="A10G", zone="us-east-1c", spot=True, dry_run=True)
    path = tmp_path / "run.json"
    words = shlex.split(helpers.write_job(made, str(path)))
    assert words[:3] == ["aws", "ec2", "run-instances"] and words[-1] == f"file://{path}"
    content: dict[str, Any] = json.loads(path.read_text())
    assert content == made["run_instances"]
    return content


def test_ec2_takes_the_request(aws_request: dict[str, Any]) -> None:
    """As botocore's model of the service says, which knows each field."""
    model = boto3.client("ec2").meta.service_model.operation_model("RunInstances")
    report = ParamValidator().validate(aws_request, model.input_shape)
    assert not report.generate_report()
    assert aws_request["InstanceType"] == "g5.xlarge"
    assert len(aws_request["UserData"].encode()) < 16 * 1024


class Service(BaseHTTPRequestHandler):
    """Compute Engine and EC2, which are not part of the local cloud: machines are processes."""

    sent: ClassVar[list[tuple[str, Any]]] = []
    refusal: ClassVar[bytes] = b""
    runs: ClassVar[bool] = False
    machines: ClassVar[list[subprocess.Popen[bytes]]] = []

    def do_GET(self) -> None:
        """Answer a question about the zone with nothing."""
        self.answer(200, b"{}")

    def do_POST(self) -> None:
        """Keep a request for a machine, refuse it, or run its start-up script."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if body.startswith("{"):  # JSON, to Compute Engine
            asked, empty = json.loads(body), b"{}"
            items = {each["key"]: each["value"] for each in asked["metadata"]["items"]}
            script = items["startup-script"]
        else:  # a form, to EC2
            asked, empty = dict(parse_qsl(body)), b"<RunInstancesResponse/>"
            script = b64decode(asked["UserData"]).decode()
        self.sent.append((self.path, asked))
        self.answer(403, self.refusal) if self.refusal else self.answer(200, empty)
        if self.runs:
            folder = Path.cwd() / "rented"
            folder.mkdir()
            (folder / "startup.sh").write_text(script)
            own = {"VM_ROOT": str(folder), "VM_PYTHON": sys.executable, "VM_SHUTDOWN": "true"}
            start = ["bash", str(folder / "startup.sh")]
            self.machines.append(subprocess.Popen(start, env={**os.environ, **own}))

    def answer(self, status: int, body: bytes) -> None:
        """Send an answer."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    """The URL of such a service."""
    Service.sent.clear()
    Service.machines.clear()
    Service.refusal, Service.runs = b"", False
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
    assert [each.wait(120) for each in Service.machines] == [0] * len(Service.machines)


@pytest.fixture
def rented(side: Side, connection: object, service: str, monkeypatch: pytest.MonkeyPatch) -> Side:
    """The helpers as under LESSON_TARGET=cloud, with the local cloud's buckets."""
    for module in (aws_vm, gcp_vm, vm):
        monkeypatch.setattr(module, "target", lambda: "cloud")
    monkeypatch.setattr(vm, "LOOKING", 0.2)
    monkeypatch.setattr(gcp_vm, "API", f"{service}/compute/v1")
    nobody = AnonymousCredentials(), "local-project"  # type: ignore[no-untyped-call]
    monkeypatch.setattr(google.auth, "default", lambda scopes: nobody)
    side.helpers.connect()  # makes new clients, and takes such variables away
    monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", service)
    return side


@both_sides(fast="Amazon")
def test_a_machine_is_rented_and_its_results_are_awaited_in_the_bucket(
    rented: Side, data: dict[str, Any]
) -> None:
    Service.runs = True
    sent = rented.helpers.train_on_vm(data | {"epochs": 3}, wait=False)
    assert (sent.accuracy, sent.seconds) == (None, None)
    with pytest.raises(LessonError, match="is a machine, not a job"):
        rented.helpers.cancel(sent)
    run = rented.helpers.wait(sent)
    assert len(Service.sent) == 1 and len(Service.machines) == 1
    assert run.metrics["epochs"]["last"] == 3 and run.accuracy
    assert run.place in ("Compute Engine", "EC2") and run.cost and run.seconds


def test_a_machine_that_is_refused_says_why(rented: Side, data: dict[str, Any]) -> None:
    google = {"error": {"code": 403, "message": "Quota 'GPUS_ALL_REGIONS' exceeded."}}
    amazon = "<Errors><Error><Code>Quota</Code><Message>exceeded</Message></Error></Errors>"
    is_google = rented.cloud == "Google"
    Service.refusal = (
        json.dumps(google) if is_google else f"<Response>{amazon}</Response>"
    ).encode()
    with pytest.raises(LessonError, match=r"(?s)(403|starting the machine).*exceeded"):
        rented.helpers.train_on_vm(data, gpu="T4", wait=False)


@pytest.mark.skipif(not shutil.which("gcloud"), reason="the Google Cloud CLI is not installed")
def test_gcloud_sends_what_the_request_says(
    cloud: object, service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real program parses the command, and makes the body of instances.insert of it."""
    monkeypatch.chdir(tmp_path)
    helpers = SIDES["Google"].helpers
    helpers.connect()
    args = {"train": "gs://b/t.npz", "val": "gs://b/v.npz"}
    request = helpers.train_on_vm(args, gpu="T4", gpu_count=2, spot=True, dry_run=True)
    words = shlex.split(helpers.write_job(request, "startup.sh"))
    root = f"{service}/compute/v1/"
    own = {
        "PATH": os.environ["PATH"],
        "CLOUDSDK_CONFIG": str(tmp_path / "gcloud"),
        "CLOUDSDK_AUTH_ACCESS_TOKEN": "none",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": root,
        "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "true",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
    }
    done = subprocess.run([*words, "--async"], env=own, capture_output=True, text=True)
    assert len(Service.sent) == 1, done.stderr
    (path, body) = Service.sent[0]
    wanted = request["insert"]
    project = wanted["url"].split("/projects/")[1].split("/")[0]
    assert wanted["url"].endswith(path.partition("?")[0].removeprefix("/compute/v1"))
    text = json.dumps(body).replace(f"{root}projects/{project}/", "").replace(root, "")
    sent = json.loads(text)
    # What gcloud adds is the service's default, or says the same twice.
    added = {"canIpForward": False, "deletionProtection": False}
    disk = {"mode": "READ_WRITE", "type": "PERSISTENT"}
    expected = {**json.loads(json.dumps(wanted["json"])), **added}
    expected["disks"][0] |= disk
    expected["scheduling"]["preemptible"] = True
    for each in (expected, sent):
        each["metadata"]["items"].sort(key=lambda item: str(item["key"]))
    assert sent == expected


def test_cleanup_takes_what_machines_left_in_a_bucket_that_was_there_before(
    cloud: object, capsys: pytest.CaptureFixture[str]
) -> None:
    helpers, theirs = SIDES["Google"].helpers, storage.Client().create_bucket("theirs")
    for name in ("runs/vm-nn-1/exit_code", "runs/of-somebody/exit_code", "data.csv"):
        theirs.blob(name).upload_from_string("0")
    helpers.connect(bucket="theirs")
    helpers.cleanup(dry_run=False)
    assert "1 objects in gs://theirs/runs/vm-nn-" in capsys.readouterr().out
    assert {each.name for each in theirs.list_blobs()} == {"runs/of-somebody/exit_code", "data.csv"}


# ---- which machine ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("n1-standard-8", "T4", 2, "us-east4", None), ("n1-standard-8", "us-east4-a")),
        (("n1-standard-4", "nvidia_tesla_v100", 1, "us-east1", "us-east1-c"),
         ("n1-standard-4", "us-east1-c")),
        (("n1-standard-4", "L4", 4, "us-west4", None), ("g2-standard-48", "us-west4-a")),
        (("a2-highgpu-1g", "A100", 1, "us-east1", None), ("a2-highgpu-1g", "us-east1-b")),
        (("n1-standard-4", None, 1, "us-east1", None), ("n1-standard-4", "us-east1-b")),
    ],
)  # fmt: skip
def test_compute_engine_has_the_gpu_in_this_zone(asked: Any, expected: tuple[str, str]) -> None:
    *named, region, zone = asked
    assert compute_engine.choose(*named, region=region, zone=zone) == expected


@pytest.mark.parametrize(
    ("module", "asked", "said"),
    [
        (compute_engine, ("n1-standard-4", "T4", 1, "us-east5", None), "no zone of us-east5 has"),
        (compute_engine, ("n1-standard-4", "V100", 1, "us-east1", "us-east1-d"), "us-east1-b, us-"),
        (compute_engine, ("n1-standard-4", "K80", 1, "us-east1", None), "known here are T4"),
        (compute_engine, ("n1-standard-4", "L4", 3, "us-east1", None), "1, 2, 4, 8 × L4"),
        (compute_engine, ("e2-medium", "T4", 1, "us-east1", None), r"takes no T4.*n1-\*"),
        (ec2, ("m5.xlarge", "K80", 1, "us-east-1"), "known here are T4"),
        (ec2, ("m5.xlarge", "A100", 1, "us-east-1"), "have 8 × A100"),
        (ec2, ("m5.large", "T4", 1, "us-east-1"), r"name one of g4dn\.\*"),
        (ec2, ("m5.xlarge", "A10G", 1, "ca-west-1"), "ca-west-1 has no A10G"),
    ],
)
def test_what_is_not_there_is_refused(module: ModuleType, asked: Any, said: str) -> None:
    with pytest.raises(LessonError, match=said):
        module.choose(*asked[:3], **dict(zip(("region", "zone"), asked[3:], strict=False)))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("ml.g4dn.xlarge", None, 1, "us-east-1"), ("g4dn.xlarge", 1)),
        (("m5.xlarge", "A10G", 8, "us-east-1"), ("g5.48xlarge", 8)),
        (("g5.2xlarge", "A10G", 1, "us-east-1"), ("g5.2xlarge", 1)),
        (("g6.24xlarge", "L4", 1, "us-east-1"), ("g6.24xlarge", 4)),
        (("p4d.24xlarge", None, 1, "us-east-1"), ("p4d.24xlarge", 8)),
        (("ml.m5.large", None, 1, "us-east-1"), ("m5.large", 0)),
    ],
)
def test_an_instance_type_has_the_gpu(asked: Any, expected: tuple[str, int]) -> None:
    *named, region = asked
    assert ec2.choose(*named, region=region) == expected
