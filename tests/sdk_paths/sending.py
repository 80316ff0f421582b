"""Ways to send the script: through each SDK and its tuner, by torchrun, with python and with %run.

Each takes a Sending and returns what the run left; a tuner's, what each of its trials left.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from testing.other_environments import ROOT, run_sagemaker_2

FOLDER = ROOT / "training"
BUCKET = "sdk-paths"
VERTEX_IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest"
SAGEMAKER_IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8-cpu-py312"
PARTS = ("train", "val")
RATES = [0.001, 0.002]  # that a tuner tries; the first is the script's own
Flags = Mapping[str, Any]


class Sending(NamedTuple):
    """What is sent, and as what."""

    sent: Path  # the script, or its folder
    name: str
    replicas: int
    flags: Flags
    data: Path  # a folder with the two archives, which are in BUCKET of either cloud, too
    spot: bool = False  # on machines that the service may take away

    @property
    def script(self) -> Path:
        """The file to start."""
        return self.sent / "train_nn.py" if self.sent.is_dir() else self.sent

    @property
    def run(self) -> Path:
        """Where a run on this machine leaves its results."""
        return self.data / self.name

    def here(self) -> list[str]:
        """The words of a run on this machine."""
        archives = {part: self.data / f"{part}_data.npz" for part in PARTS}
        return words({**archives, **self.flags, "model_dir": self.run})


class Results(NamedTuple):
    """What a run left."""

    metrics: dict[str, Any]
    weights: Any  # all of them, as one tensor


class Trial(NamedTuple):
    """What a tuner says of a trial, and what that left."""

    state: str  # the service's word
    rate: float
    loss: float  # what the tuner has read
    results: Results


def read(metrics: bytes, model: bytes) -> Results:
    """The results from the content of metrics.json and model.pt."""
    import torch

    state = torch.load(io.BytesIO(model), weights_only=True)["model"]
    return Results(json.loads(metrics), torch.cat([each.flatten() for each in state.values()]))


def read_folder(folder: Path) -> Results:
    """The results of a run on this machine."""
    return read((folder / "metrics.json").read_bytes(), (folder / "model.pt").read_bytes())


def words(flags: Flags) -> list[str]:
    """The flags as a command's words."""
    return [f"--{name}={value}" for name, value in flags.items()]


# ---- Vertex AI ----------------------------------------------------------------------------------
def on_vertex(of: Sending) -> dict[str, Any]:
    """What both kinds of job are told."""
    data = {part: f"gs://{BUCKET}/{part}_data.npz" for part in PARTS}
    where = {"base_output_dir": f"gs://{BUCKET}/{of.name}", "machine_type": "n1-standard-4"}
    return {"args": words(data | dict(of.flags)), **where}


def from_vertex(uri: str) -> Results:
    """What a job left below its base_output_dir."""
    from google.cloud import storage

    names = ("metrics.json", "model.pt")
    blobs = [storage.Blob.from_uri(f"{uri}/model/{name}", storage.Client()) for name in names]
    return read(*(blob.download_as_bytes() for blob in blobs))


def custom_training_job(of: Sending) -> Results:
    """google-cloud-aiplatform's CustomTrainingJob."""
    from google.cloud import aiplatform
    from google.cloud.aiplatform.gapic import Scheduling

    job = aiplatform.CustomTrainingJob(
        display_name=of.name, script_path=str(of.sent), container_uri=VERTEX_IMAGE
    )
    strategy = Scheduling.Strategy.SPOT if of.spot else None
    job.run(replica_count=of.replicas, scheduling_strategy=strategy, **on_vertex(of))
    return from_vertex(f"gs://{BUCKET}/{of.name}")


def from_local_script(of: Sending) -> Results:
    """google-cloud-aiplatform's CustomJob.from_local_script."""
    custom_job(of).run()
    return from_vertex(f"gs://{BUCKET}/{of.name}")


def custom_job(of: Sending) -> Any:
    """The SDK's object of a job that has not been sent."""
    from google.cloud import aiplatform

    return aiplatform.CustomJob.from_local_script(
        display_name=of.name,
        script_path=str(of.sent),
        container_uri=VERTEX_IMAGE,
        replica_count=of.replicas,
        **on_vertex(of),
    )


def vertex_tuner(of: Sending) -> list[Trial]:
    """google-cloud-aiplatform's HyperparameterTuningJob, which tries the two RATES."""
    from google.cloud import aiplatform
    from google.cloud.aiplatform import hyperparameter_tuning

    rates = hyperparameter_tuning.DiscreteParameterSpec(values=RATES, scale="linear")
    study = aiplatform.HyperparameterTuningJob(
        display_name=of.name,
        custom_job=custom_job(of),
        metric_spec={"validation_loss": "minimize"},
        parameter_spec={"learning_rate": rates},
        max_trial_count=len(RATES),
        parallel_trial_count=1,
        search_algorithm="grid",
    )
    study.run()
    trials = []
    for trial in study.trials:
        (rate,) = trial.parameters
        (metric,) = trial.final_measurement.metrics
        results = from_vertex(f"gs://{BUCKET}/{of.name}/{trial.id}")
        trials.append(Trial(trial.state.name, float(rate.value), metric.value, results))
    return trials


# ---- SageMaker ----------------------------------------------------------------------------------
def from_sagemaker(uri: str) -> Results:
    """What a job left in its model archive."""
    import boto3

    bucket, _, key = uri.removeprefix("s3://").partition("/")
    body = boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        files = {
            member.name.removeprefix("./"): file.read()
            for member in archive
            if (file := archive.extractfile(member))
        }
    return read(files["metrics.json"], files["model.pt"])


def model_trainer(of: Sending, distributed: Any = None) -> Results:
    """Version 3's ModelTrainer, whose code is always a folder: the script's, or one for a file."""
    trainer = trainer_of(of, distributed)
    trainer.train(input_data_config=channels(), wait=False, logs=False)
    job = trainer._latest_training_job
    job.wait()
    return from_sagemaker(job.model_artifacts.s3_model_artifacts)


def trainer_of(of: Sending, distributed: Any = None) -> Any:
    """The SDK's object of a job that has not been sent."""
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        from sagemaker.core.training import configs
        from sagemaker.train import ModelTrainer

    folder, most = of.script.parent, 3600
    return ModelTrainer(
        training_image=SAGEMAKER_IMAGE,
        source_code=configs.SourceCode(source_dir=str(folder), entry_script="train_nn.py"),
        compute=configs.Compute(
            instance_type="ml.m5.large",
            instance_count=of.replicas,
            enable_managed_spot_training=of.spot,
        ),
        stopping_condition=configs.StoppingCondition(
            max_runtime_in_seconds=most, max_wait_time_in_seconds=most if of.spot else None
        ),
        output_data_config=configs.OutputDataConfig(s3_output_path=f"s3://{BUCKET}/out"),
        checkpoint_config=configs.CheckpointConfig(s3_uri=f"s3://{BUCKET}/{of.name}/kept")
        if of.spot
        else None,
        hyperparameters=dict(of.flags),
        base_job_name=of.name,
        distributed=distributed,
    )


def channels() -> list[Any]:
    """The two archives, as inputs of a job."""
    from sagemaker.core.training.configs import InputData

    uris = {part: f"s3://{BUCKET}/{part}_data.npz" for part in PARTS}
    return [InputData(channel_name=part, data_source=uri) for part, uri in uris.items()]


def model_trainer_with_torchrun(of: Sending) -> Results:
    """The same, where the SDK's driver starts torchrun on each instance."""
    with warnings.catch_warnings(action="ignore"):
        from sagemaker.train.distributed import Torchrun
    return model_trainer(of, Torchrun())


def sagemaker_tuner(of: Sending) -> list[Trial]:
    """Version 3's HyperparameterTuner, which tries the two RATES."""
    import boto3

    with warnings.catch_warnings(action="ignore"):
        from sagemaker.core.parameter import CategoricalParameter
        from sagemaker.train.tuner import HyperparameterTuner

    tuner = HyperparameterTuner(
        model_trainer=trainer_of(of),
        objective_metric_name="validation:loss",
        objective_type="Minimize",
        metric_definitions=[{"Name": "validation:loss", "Regex": "validation:loss = ([0-9.]+)"}],
        hyperparameter_ranges={"learning_rate": CategoricalParameter(RATES)},
        strategy="Grid",
        max_jobs=len(RATES),
        max_parallel_jobs=1,
        # The SDK adds the minute, and cuts what is longer than 32 characters: no name twice.
        base_tuning_job_name=of.name.removeprefix("sagemaker-"),
    )
    tuner.tune(inputs=channels(), wait=False)
    tuner.latest_tuning_job.wait(poll=1)
    service, trials = boto3.client("sagemaker"), []
    name = tuner.latest_tuning_job.hyper_parameter_tuning_job_name
    listed = service.list_training_jobs_for_hyper_parameter_tuning_job(
        HyperParameterTuningJobName=name
    )
    for trial in listed["TrainingJobSummaries"]:
        job = service.describe_training_job(TrainingJobName=trial["TrainingJobName"])
        results = from_sagemaker(job["ModelArtifacts"]["S3ModelArtifacts"])
        rate = float(trial["TunedHyperParameters"]["learning_rate"])
        loss = trial["FinalHyperParameterTuningJobObjectiveMetric"]["Value"]
        trials.append(Trial(trial["ObjectiveStatus"], rate, loss, results))
    return trials


def estimator(of: Sending) -> Results:
    """Version 2's estimator: a file alone as entry point, or one of a source_dir."""
    code = {"entry_point": "train_nn.py", "source_dir": str(of.sent)}
    given = {
        **(code if of.sent.is_dir() else {"entry_point": str(of.sent)}),
        "framework_version": "2.5.1",
        "py_version": "py311",
        "instance_count": of.replicas,
        "instance_type": "ml.m5.xlarge",
        "hyperparameters": dict(of.flags),
        "code_location": f"s3://{BUCKET}/{of.name}/code",
        "output_path": f"s3://{BUCKET}/{of.name}/out",
    }
    program = f"""
import local_cloud
local_cloud.activate()
import sagemaker
from sagemaker.pytorch import PyTorch
made = PyTorch(role=sagemaker.get_execution_role(), **{given!r})
made.fit({{part: f"s3://{BUCKET}/{{part}}_data.npz" for part in {PARTS}}}, logs=None)
print("\\nMODEL", made.model_data)
"""
    printed = run_sagemaker_2(program, of.data)
    (line,) = (line for line in printed.splitlines() if line.startswith("MODEL "))
    return from_sagemaker(line.removeprefix("MODEL "))


# ---- this machine -------------------------------------------------------------------------------
def python(of: Sending) -> Results:
    """A command in a terminal."""
    command = [sys.executable, str(of.script), *of.here()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return read_folder(of.run)


def torchrun(of: Sending) -> Results:
    """torch's own launcher."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc_per_node={of.replicas}", str(of.script), *of.here()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return read_folder(of.run)


def run_magic(of: Sending) -> Results:
    """%run in a notebook's kernel, which lives on."""
    import nbformat

    line = f'%run "{of.script}" {" ".join(of.here())}'
    cells = [nbformat.v4.new_code_cell(each) for each in (line, "print('alive')")]
    path = of.data / f"{of.name}.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    command = [sys.executable, "-m", "jupyter", "execute", "--inplace", str(path)]
    done = subprocess.run(
        command,
        cwd=of.data,
        env={**os.environ, "IPYTHONDIR": str(of.data / "ipython")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = nbformat.read(path, 4).cells[-1].outputs
    said = "".join(each.text for each in outputs)  # in one piece or in several
    assert said == "alive\n", outputs
    return read_folder(of.run)


def alone(folder: Path) -> Path:
    """The script copied into this folder without the files beside it."""
    folder.mkdir()
    return Path(shutil.copy(FOLDER / "train_nn.py", folder))
