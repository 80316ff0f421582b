"""The service in this process, on a store and an engine of its own, and requests to it."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import tarfile
import time
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from local_cloud import platform as server
from local_cloud.amazon.protocols.json_protocol import JsonService
from local_cloud.amazon.sagemaker import service as sagemaker
from local_cloud.json_types import Json
from local_cloud.platform import Platform

BUCKET = "a-bucket"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8-cpu-py312"
ROLE = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"


class Refusal(Exception):
    """What a client would see as ClientError."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Service:
    """SageMaker, spoken to as a client's requests do, without the sockets in between."""

    def __init__(self, platform: Platform, api: JsonService) -> None:
        self.engine = platform.engine
        self.studies = platform.studies
        self.objects = platform.s3
        self._json = api

    def __call__(self, operation: str, **params: Any) -> Json:
        answer = self._json.answer(operation, json.dumps(params).encode())
        content: Json = json.loads(bytes(answer.body))
        if answer.status_code != 200:
            raise Refusal(content["__type"], content["message"])
        return content

    def put(self, key: str, content: bytes | str) -> str:
        """Make an object in the bucket; returns its address."""
        body = self.objects.upload_file()
        body.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.objects.put(BUCKET, key, body)
        return f"s3://{BUCKET}/{key}"

    def read(self, key: str) -> bytes:
        return self.objects.get(BUCKET, key).path.read_bytes()

    def keys(self, prefix: str = "") -> list[str]:
        return list(self.objects.names(BUCKET, prefix))

    def archive(self, key: str) -> dict[str, bytes]:
        """The files of a .tar.gz by their names."""
        with tarfile.open(fileobj=io.BytesIO(self.read(key))) as archive:
            members = [member for member in archive if member.isfile()]
            return {member.name: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]

    def log(self, name: str, host: str = "algo-1") -> str:
        return self.engine.log(name, host).read_text()

    async def end(self, name: str, status: str = "Completed") -> Json:
        """The job's description as soon as it has ended, which is to be like this."""
        job = self.engine.get(name)
        while not job.state.ended:
            job = await self.engine.wait_for_change(job, 60)
        ended_job = self("DescribeTrainingJob", TrainingJobName=name)
        assert ended_job["TrainingJobStatus"] == status, (
            ended_job.get("FailureReason"),
            self._logs(name),
        )
        return ended_job

    def _logs(self, name: str) -> str:
        return "\n".join(log.read_text() for log in self.engine.log(name, "x").parent.glob("*.log"))

    def send(self, name: str = "a-job", script: str = "pass", **changes: Any) -> str:
        """Send a job that runs this Python script, its channel `code`; returns its name."""
        code = channel("code", self.put(f"scripts/{name}/task.py", script))
        params = request(name, **changes)
        params["InputDataConfig"] = [*params.get("InputDataConfig", []), code]
        params["AlgorithmSpecification"] |= {
            "ContainerEntrypoint": ["python3"],
            "ContainerArguments": ["/opt/ml/input/data/code/task.py"],
        }
        return self.create(**params)

    def create(self, **params: Any) -> str:
        """Send this request; returns the job's name."""
        self("CreateTrainingJob", **params)
        return str(params["TrainingJobName"])

    async def run(self, script: str, *, status: str = "Completed", **changes: Any) -> Json:
        """Send a job and wait for its end; returns its description."""
        return await self.end(self.send(script=script, **changes), status)


@asynccontextmanager
async def running(folder: Path, cores: int | None = None) -> AsyncIterator[Service]:
    """A server's inner half, without the rest of the server."""
    environment = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1/SECRET/aws"}
    platform = Platform.of(folder, environment, cores=cores)
    service = sagemaker.service(platform)
    api, *_ = service.apis
    assert isinstance(api, JsonService)
    await platform.start([server.Service(dialect=service.dialect, runners=service.runners)])
    here, objects = Service(platform, api), platform.s3
    try:
        if not any(objects.buckets()):
            objects.create_bucket(BUCKET, {})
        yield here
    finally:
        await platform.close()


def request(
    name: str = "a-job",
    instances: int = 1,
    channels: Mapping[str, str] | None = None,
    **fields: Any,
) -> Json:
    """A request for a job; channels: an address for each name; fields go into it as they are."""
    params: Json = {
        "TrainingJobName": name,
        "RoleArn": ROLE,
        "AlgorithmSpecification": {"TrainingImage": IMAGE, "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
        "ResourceConfig": {
            "InstanceType": "ml.m5.large",
            "InstanceCount": instances,
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
    }
    if channels:
        params["InputDataConfig"] = [channel(*item) for item in channels.items()]
    algorithm = fields.pop("AlgorithmSpecification", {})
    params["AlgorithmSpecification"] |= algorithm
    return params | fields


def channel(name: str, address: str, **source: Any) -> Json:
    """A channel of the files below an address."""
    source = {"S3DataType": "S3Prefix", "S3Uri": address} | source
    return {"ChannelName": name, "DataSource": {"S3DataSource": source}}


def packed(files: Mapping[str, str | bytes | Path]) -> bytes:
    """A .tar.gz of these files; a path is what a link leads to."""
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            if isinstance(text, Path):
                member.type, member.linkname, text = tarfile.SYMTYPE, str(text), b""
            content = text.encode() if isinstance(text, str) else text
            member.size, member.mtime = len(content), int(time.time())
            archive.addfile(member, io.BytesIO(content))
    return body.getvalue()


def sdk2(service: Service, files: Mapping[str, str | bytes], **hyperparameters: Any) -> Json:
    """HyperParameters as version 2 of the SDK sends them for these files, the first the program."""
    address = service.put("code/sourcedir.tar.gz", packed(files))
    said = hyperparameters | {
        "sagemaker_program": next(iter(files)),
        "sagemaker_submit_directory": address,
        "sagemaker_container_log_level": 20,
        "sagemaker_job_name": "a-job",
        "sagemaker_region": "us-east-1",
    }
    return {name: json.dumps(value) for name, value in said.items()}


def sdk3(
    service: Service, folder: Path, files: Mapping[str, str], distributed: Any = None, **source: Any
) -> Json:
    """What version 3 of the SDK puts into a request for these files: drivers, channels, command."""
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        from sagemaker.core.training.configs import SourceCode
        from sagemaker.core.utils import install_requirements
        from sagemaker.train import ModelTrainer
        from sagemaker.train.constants import (
            DEFAULT_CONTAINER_ARGUMENTS,
            DEFAULT_CONTAINER_ENTRYPOINT,
            SM_DRIVERS_LOCAL_PATH,
        )

    # The SDK's own methods; only its uploads and its checks of a role are not wanted here.
    trainer = SimpleNamespace(_jumpstart_config=None, hyperparameters=None)
    code = SourceCode(source_dir="src", **source)
    made = SimpleNamespace(name=str(folder / "drivers"))
    shutil.copytree(SM_DRIVERS_LOCAL_PATH, made.name)
    shutil.copy(install_requirements.__file__, f"{made.name}/scripts/install_requirements.py")
    ModelTrainer._prepare_train_script(trainer, made, code, distributed)
    ModelTrainer._write_source_code_json(trainer, made, code)
    ModelTrainer._write_distributed_json(trainer, made, distributed)
    for path in Path(made.name).rglob("*"):
        if path.is_file():
            service.put(f"in/sm_drivers/{path.relative_to(made.name)}", path.read_bytes())
    for name, text in files.items():
        service.put(f"in/code/{name}", text)
    return {
        "InputDataConfig": [
            channel(name, f"s3://{BUCKET}/in/{name}/") for name in ("code", "sm_drivers")
        ],
        "AlgorithmSpecification": {
            "ContainerEntrypoint": DEFAULT_CONTAINER_ENTRYPOINT,
            "ContainerArguments": DEFAULT_CONTAINER_ARGUMENTS,
        },
    }


def go(story: Any) -> Any:
    """Run a test's coroutine."""
    return asyncio.run(story)
