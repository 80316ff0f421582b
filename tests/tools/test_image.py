"""The command that prints how the image is built and pushed: dry by default."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from AWS_helpers.images import ECR
from GCP_helpers.images import is_prebuilt
from tools.image import __main__ as image

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """docker, gcloud and aws that only write down how they were called."""
    log = tmp_path / "log"
    for name in ("docker", "gcloud", "aws"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> "{log}"\n[ "$1" != push ]\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    return log


@pytest.mark.parametrize("cloud", ["gcp", "aws"])
def test_it_prints_and_runs_nothing(cloud: str, programs: Path, capsys: Printed) -> None:
    assert image.main(["--cloud", cloud, "--account", "123456789012"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert not programs.exists()
    assert lines[-3].startswith(
        "docker build --platform linux/amd64 --file tools/image/Dockerfile --tag "
    )
    built, pushed = lines[-3].split()[-2], lines[-2].split()[-1]
    assert built == pushed and lines[-1] == f"export LESSON_IMAGE={built}"
    assert bool(ECR.fullmatch(built)) == (cloud == "aws") and not is_prebuilt(built)


def test_what_may_be_chosen_is_in_the_command(programs: Path, capsys: Printed) -> None:
    image.main(["--cloud", "aws", "--cpu", "--root", "--tag", "7"])
    out = capsys.readouterr().out
    assert "--build-arg INDEX=https://download.pytorch.org/whl/cpu --build-arg RUN_AS=root" in out
    assert "YOUR-ACCOUNT.dkr.ecr.us-east-1.amazonaws.com/rented-machines:7" in out


def test_google_builds_it_without_docker(programs: Path, capsys: Printed) -> None:
    image.main(["--cloud", "gcp", "--account", "mine", "--remote"])
    assert "docker build" not in (out := capsys.readouterr().out)
    assert "gcloud builds submit --project=mine --config tools/image/cloudbuild.yaml" in out
    assert "--substitutions=_IMAGE=us-central1-docker.pkg.dev/mine/" in out


def test_with_run_it_runs_them_until_one_fails(programs: Path, capsys: Printed) -> None:
    assert image.main(["--cloud", "gcp", "--account", "mine", "--run"]) == 1
    ran = programs.read_text().splitlines()
    assert [line.split()[0:2] for line in ran] == [
        ["gcloud", "artifacts"],
        ["gcloud", "auth"],
        ["docker", "build"],
        ["docker", "push"],
    ]
    assert "export" not in capsys.readouterr().out


@pytest.mark.parametrize("cloud", ["gcp", "aws"])
def test_the_serving_image_has_its_own_file_and_repository(
    cloud: str, programs: Path, capsys: Printed
) -> None:
    assert image.main(["--cloud", cloud, "--account", "123456789012", "--serving"]) == 0
    out = capsys.readouterr().out
    build, push, use = out.splitlines()[-3:]
    assert not programs.exists()
    name = push.split()[-1]
    assert "/rented-machines-serving:1" in name and name in build and repr(name) in use
    assert "--file tools/image/Dockerfile.serving" in build and "LESSON_IMAGE" not in out
    if cloud == "aws":
        assert "create-repository --repository-name rented-machines-serving " in out


@pytest.mark.parametrize(
    "wrong", [["--run"], ["--remote", "--cpu"], ["--serving", "--root"], ["--serving", "--remote"]]
)
def test_what_cannot_be_done_is_said(wrong: list[str], programs: Path) -> None:
    with pytest.raises(SystemExit) as refusal:
        image.main(["--cloud", "gcp", *wrong])
    assert refusal.value.code == 2 and not programs.exists()


def test_it_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.image", "--cloud", "gcp", "--account", "mine"],
        capture_output=True,
        text=True,
        cwd=image.ROOT,
    )
    assert done.returncode == 0 and done.stdout.endswith("/mine/lesson/rented-machines:1\n")
