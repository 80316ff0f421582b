"""SageMaker as a place for scripts: training jobs, and trials of tuning jobs.

The SDK, version 3, sends one script in both ways; its requests, with another script put in, send
the others.
"""

from __future__ import annotations

import copy
import io
import json
import tarfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from tests.strangers.script import Script
from tests.strangers.shared_parts import DATA, ROWS, Look, Sent

Json = dict[str, Any]
BUCKET = "strangers-sagemaker"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8-cpu-py312"
STATES = {
    "InProgress": "running",
    "Stopping": "running",
    "Completed": "succeeded",
    "Failed": "failed",
    "Stopped": "stopped",
}
OVER = ("Completed", "Failed", "Stopped")


@contextmanager
def recorded() -> Iterator[dict[str, Json]]:
    """The requests that boto3 sends meanwhile, the last of each operation."""
    from botocore.client import BaseClient

    seen: dict[str, Json] = {}
    real = BaseClient._make_api_call

    def call(self: Any, operation: str, params: Json) -> Any:
        seen[operation] = copy.deepcopy({k: v for k, v in params.items() if k != "Body"})
        return real(self, operation, params)

    with mock.patch.object(BaseClient, "_make_api_call", call):
        yield seen


class SageMaker:
    """The real SDK's requests, as templates, and sending scripts by them."""

    def __init__(self, jobs: Path, scratch: Path) -> None:
        """jobs: the local cloud's folder with the logs; scratch: for a script."""
        with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
            import boto3
            from sagemaker.core.parameter import ContinuousParameter
            from sagemaker.core.training import configs
            from sagemaker.train import ModelTrainer
            from sagemaker.train.tuner import HyperparameterTuner

        self.jobs = jobs
        self.s3, self.client = boto3.client("s3"), boto3.client("sagemaker")
        for bucket in (BUCKET, DATA):
            self.s3.create_bucket(Bucket=bucket)
        self.s3.put_object(Bucket=DATA, Key="table/data.csv", Body=ROWS.encode())
        (scratch / "task.py").write_text("pass")
        trainer = ModelTrainer(
            training_image=IMAGE,
            source_code=configs.SourceCode(source_dir=str(scratch), entry_script="task.py"),
            compute=configs.Compute(instance_type="ml.m5.large", instance_count=1),
            output_data_config=configs.OutputDataConfig(s3_output_path=f"s3://{BUCKET}/out"),
            hyperparameters={"a": "b"},
            base_job_name="template",
        )
        table = configs.InputData(channel_name="training", data_source=f"s3://{DATA}/table/")
        with recorded() as seen, warnings.catch_warnings(action="ignore"):
            trainer.train(input_data_config=[table], wait=False, logs=False)
            self._job = seen["CreateTrainingJob"]
            tuner = HyperparameterTuner(
                model_trainer=trainer,
                objective_metric_name="loss",
                metric_definitions=[{"Name": "loss", "Regex": r"loss\D{0,3}([0-9.]+)"}],
                objective_type="Minimize",
                hyperparameter_ranges={"lr": ContinuousParameter(0.001, 0.1)},
                max_jobs=1,
                max_parallel_jobs=1,
            )
            tuner.tune(inputs=[table], wait=False)
            self._study = seen["CreateHyperParameterTuningJob"]

    def send(self, script: Script, trial: bool) -> Sent:
        """Send a script as a job, or as the trial of a study."""
        name = script.name.replace("_", "-")
        values = {key: _text(value) for key, value in script.hyperparameters.items()}
        if not trial:
            body = copy.deepcopy(self._job) | {"TrainingJobName": name, "HyperParameters": values}
            for channel in body["InputDataConfig"]:
                if channel["ChannelName"] == "code":
                    channel["DataSource"]["S3DataSource"]["S3Uri"] = self._code(script)
            self.client.create_training_job(**body)
            return SageMakerSent(self, name, False)
        study = f"{name}-t"[:32]
        body = copy.deepcopy(self._study) | {"HyperParameterTuningJobName": study}
        definition = body["TrainingJobDefinition"]
        toolkit = {
            key: value
            for key, value in definition["StaticHyperParameters"].items()
            if key.startswith("sagemaker_")
        } | {"sagemaker_submit_directory": self._archive(script)}
        definition["StaticHyperParameters"] = values | toolkit
        (tuned,) = body["HyperParameterTuningJobConfig"]["ParameterRanges"][
            "ContinuousParameterRanges"
        ]
        tuned["Name"] = script.one("tuned", "lr")
        self.client.create_hyper_parameter_tuning_job(**body)
        return SageMakerSent(self, study, True)

    def _code(self, script: Script) -> str:
        for name, text in script.files.items():
            self.s3.put_object(Bucket=BUCKET, Key=f"code/{script.name}/{name}", Body=text)
        return f"s3://{BUCKET}/code/{script.name}/"

    def _archive(self, script: Script) -> str:
        body = io.BytesIO()
        with tarfile.open(fileobj=body, mode="w:gz") as archive:
            for name, text in script.files.items():
                member = tarfile.TarInfo(name)
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
        key = f"archives/{script.name}/sourcedir.tar.gz"
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=body.getvalue())
        return f"s3://{BUCKET}/{key}"


class SageMakerSent(Sent):
    """A training job, or a tuning job of one."""

    def __init__(self, place: SageMaker, name: str, trial: bool) -> None:
        self.place, self.name, self.trial = place, name, trial
        self.job = "" if trial else name

    def look(self) -> Look:
        if not self.job:
            study = {"HyperParameterTuningJobName": self.name}
            listed = self.place.client.list_training_jobs_for_hyper_parameter_tuning_job(**study)
            if not (jobs := listed["TrainingJobSummaries"]):
                return Look("failed" if self.over() else "queued", "no trial was started")
            self.job = jobs[0]["TrainingJobName"]
        job = self.place.client.describe_training_job(TrainingJobName=self.job)
        waits = job["SecondaryStatus"] in ("Starting", "Pending")
        state = "queued" if waits else STATES[job["TrainingJobStatus"]]
        return Look(state, job.get("FailureReason", ""))

    def over(self) -> bool:
        if not self.trial:
            job = self.place.client.describe_training_job(TrainingJobName=self.name)
            return job["TrainingJobStatus"] in OVER
        study = self.place.client.describe_hyper_parameter_tuning_job(
            HyperParameterTuningJobName=self.name
        )
        return study["HyperParameterTuningJobStatus"] in OVER

    def cancel(self) -> None:
        if self.trial:
            stop = self.place.client.stop_hyper_parameter_tuning_job
            stop(HyperParameterTuningJobName=self.name)
        else:
            self.place.client.stop_training_job(TrainingJobName=self.name)

    def log(self) -> str:
        return self.read(self.place.jobs / self.job) if self.job else ""

    def model(self) -> dict[str, bytes]:
        job = self.place.client.describe_training_job(TrainingJobName=self.job)
        uri = job.get("ModelArtifacts", {}).get("S3ModelArtifacts", "")
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        if not key:
            return {}
        try:
            body = self.place.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        except self.place.s3.exceptions.NoSuchKey:  # of a job that has left no model
            return {}
        with tarfile.open(fileobj=io.BytesIO(body)) as archive:
            return {
                member.name.removeprefix("./"): file.read()
                for member in archive
                if (file := archive.extractfile(member))
            }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
