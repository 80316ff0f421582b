"""The check of the set-up: PASS or the fix, one line per thing, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

import lesson
from lesson import check
from lesson.setup import findings, people, places, tiny_jobs
from local_cloud import Status
from tools.environment.kernel import KERNEL
from tools.environment.make import IS_SMALL

Printed = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def lines(printed: Printed) -> dict[str, tuple[str, str]]:
    """What was printed: the word and the text for the name of each thing."""
    printed_lines = {}
    for line in printed.readouterr().out.splitlines():
        if line[:4].rstrip() in ("PASS", "FIX", "SKIP"):
            printed_lines[line[6:23].strip()] = (line[:4], line[25:])
    return printed_lines


def made() -> set[str]:
    """The names of the jobs and buckets that the local cloud holds."""
    import boto3
    from google.cloud import aiplatform

    pages = boto3.client("sagemaker").get_paginator("list_training_jobs").paginate()
    jobs = [job for page in pages for job in page["TrainingJobSummaries"]]
    buckets = boto3.client("s3").list_buckets()["Buckets"]
    customs = aiplatform.CustomJob.list(project=tiny_jobs.NAME, location="us-central1")
    names = {job.resource_name for job in customs} | {job["TrainingJobName"] for job in jobs}
    return names | {bucket["Name"] for bucket in buckets}


def line(name: str) -> findings.Line:
    """What the check with this name says."""
    return findings.line(name, check.CHECKS[name])


def test_a_machine_that_is_ready_passes_and_keeps_nothing(
    cloud: Status, capsys: Printed, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(people, "processes", list)  # of whoever runs the tests
    before = made()
    assert check.set_up()
    printed = lines(capsys)
    assert list(printed) == list(check.CHECKS)
    assert {word for word, _ in printed.values()} == {"PASS"}
    assert made() == before


def test_in_a_terminal_its_exit_code_says_whether_all_is_ready(tmp_path: Path) -> None:
    """With the machine's Python in place of the lesson's: no package is there, and no traceback."""
    home = {"LOCAL_CLOUD_HOME": str(tmp_path / "home"), "PYTHONPATH": str(lesson.ROOT)}
    done = subprocess.run(
        [sys.executable, "-S", "-m", "lesson.check"],  # -S: without the packages
        cwd=tmp_path,
        env=os.environ | home,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.replace("Starting the local cloud ...\n", "") == ""
    assert "FIX   packages" in done.stdout and "more not in" in done.stdout
    assert "FIX   job on Vertex AI" in done.stdout
    assert "of these to fix, from the top." in done.stdout


def test_of_the_real_clouds_too_a_missing_package_is_a_line_and_no_traceback(
    tmp_path: Path,
) -> None:
    """Both clouds are asked unless one is named; LESSON_TARGET need not be set."""
    done = subprocess.run(
        [sys.executable, "-S", "-m", "lesson.check", "--target", "cloud"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(lesson.ROOT), "LESSON_BUCKET": "some"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (1, "")
    google, amazon = done.stdout.split("Amazon Web Services, by read-only calls:")
    assert google.startswith("\nGoogle Cloud, by read-only calls:\n")
    for said, module in ((google, "google"), (amazon, "bot")):
        assert f"FIX   credentials        No module named '{module}" in said
    assert amazon.endswith("2 of these to fix, from the top.\n")


def test_a_region_is_of_one_cloud(capsys: Printed) -> None:
    with pytest.raises(SystemExit):
        check.main(["--target", "cloud", "--region", "europe-west4"])
    assert "name it, with --cloud" in capsys.readouterr().err


def test_an_old_python_is_told_which_one_to_take(monkeypatch: Patch) -> None:
    monkeypatch.setattr(check.sys, "version_info", (3, 9, 18, "final", 0))
    assert line("Python").word == "FIX"
    assert line("Python").text.startswith("3.9.18 is too old: install 3.11")


def test_a_package_that_is_missing_or_in_another_version_is_named(monkeypatch: Patch) -> None:
    real = check._version_of
    monkeypatch.setattr(check, "_version_of", lambda name: None if name == "torch" else real(name))
    assert line("packages").word == "FIX" and line("packages").text.startswith("torch not in")
    monkeypatch.setattr(check, "_version_of", lambda name: "0.1" if name == "torch" else real(name))
    assert line("packages").text.startswith("torch 0.1: other versions")


def test_what_the_lesson_does_not_name_may_differ_as_it_does_with_conda(monkeypatch: Patch) -> None:
    real = check._version_of
    monkeypatch.setattr(check, "_version_of", lambda n: "0.1" if n == "certifi" else real(n))
    assert line("packages").word == "PASS"


def test_a_full_disk_is_seen(monkeypatch: Patch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(check.shutil, "disk_usage", lambda path: usage(10**10, 0, 2 * 10**8))
    assert line("disk").word == "FIX"
    assert line("disk").text.startswith("0.2 GB free at ")


def test_a_local_cloud_that_cannot_start_is_one_line(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "photo.png").write_text("of somebody")
    monkeypatch.setenv("LOCAL_CLOUD_HOME", str(tmp_path))
    printed = line("local cloud")
    assert printed.word == "FIX" and "holds other things" in printed.text
    assert "\n" not in str(printed)


@pytest.mark.parametrize("service", ["vertex", "sagemaker"])
def test_a_job_that_fails_is_told_and_deleted(
    cloud: Status, service: str, monkeypatch: Patch
) -> None:
    before = made()
    monkeypatch.setattr(tiny_jobs, "CODE", "raise SystemExit(3)\n")
    with pytest.raises(lesson.LessonError, match=r"(?is)the job ended as failed: .*3"):
        getattr(tiny_jobs, service)()
    assert made() == before


def test_a_job_that_does_not_end_is_cancelled_and_told(monkeypatch: Patch) -> None:
    cancelled: list[bool] = []
    monkeypatch.setattr(tiny_jobs, "LONGEST", 0.0)
    with pytest.raises(lesson.LessonError, match="had not ended"):
        tiny_jobs._end(lambda: "PENDING", lambda: cancelled.append(True))
    assert cancelled == [True]


def test_nothing_is_sent_to_the_real_services(monkeypatch: Patch, capsys: Printed) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    assert check.set_up()
    words = {name: word for name, (word, _) in lines(capsys).items()}
    assert [name for name, word in words.items() if word == "SKIP"] == [
        "local cloud",
        "job on Vertex AI",
        "job on SageMaker",
    ]


def test_a_folder_of_somebody_else_is_seen(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(check.os, "access", lambda path, mode: False)  # root may write anywhere
    assert line("notebooks").word == "FIX" and str(tmp_path) in line("notebooks").text


def test_the_notebooks_to_work_in_are_counted(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(check, "ROOT", tmp_path)
    assert "make lab" in line("notebooks").text
    (tmp_path / "work").mkdir()
    (tmp_path / "work/02-a.ipynb").write_text("{}")
    assert line("notebooks").text.startswith("1 to work in")


def test_the_place_is_recognised_as_the_sdks_do(tmp_path: Path, monkeypatch: Patch) -> None:
    from google.cloud.aiplatform import initializer
    from sagemaker.core import user_agent

    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    assert line("place").text.startswith("a machine of your own")
    monkeypatch.setenv("VERTEX_PRODUCT", "WORKBENCH_INSTANCE")
    assert initializer._Config().get_resource_type().value == "WORKBENCH_INSTANCE"
    printed = line("place")
    assert printed.word == "FIX" and "Vertex AI Workbench: its JupyterLab does not" in printed.text
    kernel = tmp_path / "kernels" / KERNEL["name"] / "kernel.json"
    kernel.parent.mkdir(parents=True)
    kernel.touch()
    assert line("place").text.startswith("Vertex AI Workbench: open work/")
    monkeypatch.delenv("VERTEX_PRODUCT")
    assert str(places.STUDIO) == user_agent.STUDIO_METADATA_FILE
    monkeypatch.setattr(places, "STUDIO", tmp_path / "resource-metadata.json")
    (tmp_path / "resource-metadata.json").write_text('{"AppType": "JupyterLab"}')
    assert line("place").text.startswith("SageMaker's notebooks")
    monkeypatch.setenv("COLAB_RELEASE_TAG", "release-colab_20260819")
    assert line("place").text.startswith("Google Colab: its first cell")


def test_a_small_environment_lacks_only_what_was_left_out(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    real = check._version_of
    left_out = ("pytest", "duckdb")
    monkeypatch.setattr(check, "_version_of", lambda n: None if n in left_out else real(n))
    assert line("packages").word == "FIX"
    (tmp_path / IS_SMALL).touch()
    monkeypatch.setattr(check.sys, "prefix", str(tmp_path))
    assert line("packages").word == "PASS" and "BigQuery" in line("packages").text
    monkeypatch.setattr(check, "_version_of", lambda n: None if n == "torch" else real(n))
    assert line("packages").text.startswith("torch not in")
