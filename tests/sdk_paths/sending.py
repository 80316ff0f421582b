"""Ways to send the script: through each SDK, by torchrun, and with %run.

Each takes a Sending and returns what the run left.
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

from tests.local_cloud.other_environments import ROOT, run_sagemaker_2

FOLDER = ROOT / "training"
BUCKET = "sdk-paths"
VERTEX_IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest"
SAGEMAKER_IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8-cpu-py312"
PARTS = ("train", "val")
Flags = Mapping[str, Any]


class Sending(NamedTuple):
    """What is sent, and as what."""

    sent: Path  # the script, or its folder
    name: str
    replicas: int
    flags: Flags
    data: Path  # a folder with the two archives, which are in BUCKET of either cloud, too

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

    job = aiplatform.CustomTrainingJob(
        display_name=of.name, script_path=str(of.sent), container_uri=VERTEX_IMAGE
    )
    job.run(replica_count=of.replicas, **on_vertex(of))
    return from_vertex(f"gs://{BUCKET}/{of.name}")


def from_local_script(of: Sending) -> Results:
    """google-cloud-aiplatform's CustomJob.from_local_script."""
    from google.cloud import aiplatform

    job = aiplatform.CustomJob.from_local_script(
        display_name=of.name,
        script_path=str(of.sent),
        container_uri=VERTEX_IMAGE,
        replica_count=of.replicas,
        **on_vertex(of),
    )
    job.run()
    return from_vertex(f"gs://{BUCKET}/{of.name}")


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
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        from sagemaker.core.training.configs import Compute, InputData, OutputDataConfig, SourceCode
        from sagemaker.train import ModelTrainer

    folder = of.script.parent
    trainer = ModelTrainer(
        training_image=SAGEMAKER_IMAGE,
        source_code=SourceCode(source_dir=str(folder), entry_script="train_nn.py"),
        compute=Compute(instance_type="ml.m5.large", instance_count=of.replicas),
        output_data_config=OutputDataConfig(s3_output_path=f"s3://{BUCKET}/out"),
        hyperparameters=dict(of.flags),
        base_job_name=of.name,
        distributed=distributed,
    )
    data = [
        InputData(channel_name=part, data_source=f"s3://{BUCKET}/{part}_data.npz") for part in PARTS
    ]
    trainer.train(input_data_config=data, wait=False, logs=False)
    job = trainer._latest_training_job
    job.wait()
    return from_sagemaker(job.model_artifacts.s3_model_artifacts)


def model_trainer_with_torchrun(of: Sending) -> Results:
    """The same, where the SDK's driver starts torchrun on each instance."""
    with warnings.catch_warnings(action="ignore"):
        from sagemaker.train.distributed import Torchrun
    return model_trainer(of, Torchrun())


def estimator(of: Sending) -> Results:
    """Version 2's estimator: a file alone as entry point, or one of a source_dir."""
    code = {"entry_point": "train_nn.py", "source_dir": str(of.sent)}
    given = {
        **(code if of.sent.is_dir() else {"entry_point": str(of.sent)}),
        **{"framework_version": "2.5.1", "py_version": "py311", "instance_count": of.replicas},
        **{"instance_type": "ml.m5.xlarge", "hyperparameters": dict(of.flags)},
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
    """The script copied into this folder without its companions."""
    folder.mkdir()
    return Path(shutil.copy(FOLDER / "train_nn.py", folder))
