"""The fixture `local_cloud` as an engineer meets it: in a pytest run in a folder of their own.

The examples are those of the page for engineers: what it shows is what runs here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT.parent / "learners" / "your-own-code.md"
LEFT = '''
import time

import boto3
import psutil


def test_a_job_is_left_running(local_cloud):
    boto3.client("s3").create_bucket(Bucket="left")
    boto3.client("sagemaker").create_training_job(
        TrainingJobName="sleeps",
        RoleArn="arn:aws:iam::000000000000:role/Role",
        AlgorithmSpecification={
            "TrainingImage": "image:1",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python3", "-c"],
            "ContainerArguments": ["open('begun', 'w').close(); import time; time.sleep(600)"],
        },
        OutputDataConfig={"S3OutputPath": "s3://left/out"},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        StoppingCondition={"MaxRuntimeInSeconds": 600},
    )
    while not list(local_cloud.home.data.glob("**/begun")):
        time.sleep(0.02)
    assert sleeping(local_cloud)


def test_it_has_ended_and_nothing_is_left(local_cloud):
    assert not sleeping(local_cloud)
    assert not boto3.client("s3").list_buckets()["Buckets"]
    assert not boto3.client("sagemaker").list_training_jobs()["TrainingJobSummaries"]


def sleeping(local_cloud):
    """Whether a process of the server runs the job."""
    processes = psutil.Process(local_cloud.facts["pid"]).children(recursive=True)
    return [each for each in processes if "time.sleep(600)" in " ".join(each.cmdline())]
'''


def examples(folder: Path) -> None:
    """Write the page's files into the folder, each under the name in its first line."""
    blocks = re.findall(r"```python\n# (\S+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for name, text in blocks:
        (folder / name).write_text(text)
    assert {"test_bucket.py", "test_vertex.py", "test_sagemaker.py", "train.py"} == set(
        name for name, _ in blocks
    )


def run_pytest(python: Path, folder: Path, *words: str, **variables: str) -> str:
    """Run pytest there; of this process's variables few are passed on."""
    started = {"HOME", "PATH", "TMPDIR", "LANG"} & set(os.environ)
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=folder,
        env={name: os.environ[name] for name in started} | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_test_finds_it_empty_and_its_jobs_end_with_it(tmp_path: Path) -> None:
    (tmp_path / "test_left.py").write_text(LEFT)
    here = {
        "LOCAL_CLOUD_TARGET": "cloud",
        "LESSON_TARGET": "cloud",
    }  # the fixture is local all the same
    assert "2 passed" in run_pytest(Path(sys.executable), tmp_path, **here)


@pytest.mark.slow  # it installs two SDKs
def test_the_pages_examples_pass_in_an_environment_with_the_wheel_alone(tmp_path: Path) -> None:
    uv = ROOT.parent / ".venv/bin/uv"
    subprocess.run([uv, "build", "--wheel", "--out-dir", tmp_path / "dist", ROOT], check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    subprocess.run([uv, "venv", "--python", sys.executable, tmp_path / "env"], check=True)
    python = tmp_path / "env/bin/python"
    theirs = ["pytest", "boto3", "google-cloud-storage", "sagemaker"]
    subprocess.run([uv, "pip", "install", "--python", python, wheel, *theirs], check=True)
    (folder := tmp_path / "project").mkdir()
    examples(folder)
    assert "4 passed" in run_pytest(python, folder)
