"""The fixture `local_cloud` as an engineer meets it: in a pytest run in a folder of their own.

The examples are those of the README and the documentation: what they show is what runs here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FAILS = """
import boto3


def test_that_fails(local_cloud):
    boto3.client("s3").create_bucket(Bucket="logs")
    sagemaker = boto3.client("sagemaker")
    sagemaker.create_training_job(
        TrainingJobName="speaks",
        RoleArn="arn:aws:iam::000000000000:role/Role",
        AlgorithmSpecification={
            "TrainingImage": "image:1",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["sh", "-c", "echo the reason is in the log; exit 3"],
        },
        OutputDataConfig={"S3OutputPath": "s3://logs/out"},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        StoppingCondition={"MaxRuntimeInSeconds": 600},
    )
    sagemaker.get_waiter("training_job_completed_or_stopped").wait(
        TrainingJobName="speaks", WaiterConfig={"Delay": 1}
    )
"""
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


def examples(folder: Path, *pages: str) -> set[str]:
    """Write the pages' files into the folder, each under the name in its first line."""
    names = set()
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        for name, code in re.findall(r"```python\n# (\S+\.py)\n(.*?)```", text, re.DOTALL):
            (folder / name).write_text(code)
            names.add(name)
    return names


def run_pytest(python: Path, folder: Path, fails: bool = False, **variables: str) -> str:
    """Run pytest there; of this process's variables few are passed on."""
    started = {"HOME", "PATH", "TMPDIR", "LANG"} & set(os.environ)
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env={name: os.environ[name] for name in started} | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == int(fails), done.stdout + done.stderr
    return done.stdout


def test_each_test_finds_it_empty_and_its_jobs_end_with_it(tmp_path: Path) -> None:
    (tmp_path / "test_left.py").write_text(LEFT)
    here = {
        "LOCAL_CLOUD_TARGET": "cloud",
        "LESSON_TARGET": "cloud",
    }  # the fixture is local all the same
    assert "2 passed" in run_pytest(Path(sys.executable), tmp_path, **here)


def test_the_tests_of_the_readme_and_of_rehearsals_pass(tmp_path: Path) -> None:
    assert examples(tmp_path, "README.md", "docs/rehearse.md") == {
        "test_training.py",
        "test_quota.py",
    }
    assert "2 passed" in run_pytest(Path(sys.executable), tmp_path)


def test_the_readmes_test_has_ten_lines() -> None:
    (code,) = re.findall(
        r"```python\n# test_training.py\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    assert len([line for line in code.splitlines() if line]) <= 10


def test_below_a_test_that_fails_are_the_logs_of_its_jobs(tmp_path: Path) -> None:
    (tmp_path / "test_fails.py").write_text(FAILS)
    said = run_pytest(Path(sys.executable), tmp_path, fails=True)
    assert re.search(
        r"-- local cloud: jobs/.*\.log -*\n.*the reason is in the log", said, re.DOTALL
    )


@pytest.fixture(scope="module")
def wheel() -> Path:
    """What `make dist` leaves."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    subprocess.run(["make", "--silent", "dist"], cwd=ROOT, check=True)
    (wheel,) = (ROOT / "dist").glob("*.whl")
    return wheel


def environment(folder: Path, *packages: str | Path) -> Path:
    """Make an environment with these packages and what they need; return its Python."""
    uv = ROOT.parent / ".venv/bin/uv"
    subprocess.run([uv, "venv", "--python", sys.executable, folder], check=True)
    subprocess.run([uv, "pip", "install", "--python", folder / "bin/python", *packages], check=True)
    return folder / "bin/python"


@pytest.mark.slow  # it installs
def test_the_readmes_test_passes_with_the_wheel_and_pytest_alone(
    wheel: Path, tmp_path: Path
) -> None:
    python = environment(tmp_path / "env", wheel, "pytest")
    (folder := tmp_path / "project").mkdir()
    assert examples(folder, "README.md") == {"test_training.py"}
    assert "1 passed" in run_pytest(python, folder)


@pytest.mark.slow  # it installs two SDKs
def test_the_quick_starts_examples_pass_with_the_wheel(wheel: Path, tmp_path: Path) -> None:
    theirs = ["pytest", "boto3", "google-cloud-storage", "sagemaker"]
    python = environment(tmp_path / "env", wheel, *theirs)
    (folder := tmp_path / "project").mkdir()
    names = examples(folder, "docs/quick-start.md")
    assert names == {"test_bucket.py", "test_vertex.py", "test_sagemaker.py", "train.py"}
    assert "4 passed" in run_pytest(python, folder)
