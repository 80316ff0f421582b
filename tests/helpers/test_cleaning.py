"""cleanup() deletes what the lesson made, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import boto3
import pytest
from google.cloud import aiplatform

from lesson import LessonError
from lesson.jobs.runs import Run
from lesson.preparation import Prepared
from tests.helpers.sides import Side

Data = dict[str, Any]
Printed = pytest.CaptureFixture[str]


def leave_a_checkpoint(run: Run) -> None:
    """As a spot job on SageMaker does that was stopped."""
    uri = run.request["ModelTrainer"]["checkpoint_config"].s3_uri
    bucket, _, folder = uri.removeprefix("s3://").partition("/")
    boto3.client("s3").put_object(Bucket=bucket, Key=f"{folder}/worker-0/step-1.pt", Body=b"bytes")


def job_without_the_lesson(side: Side, data: Data, folder: Path) -> Any:
    """A job in the connected bucket that does not have the lesson's mark, and runs on."""
    if side.cloud == "Amazon":
        run = side.helpers.train(data | {"sleep": 10_000}, wait=False)
        boto3.client("sagemaker").delete_tags(
            ResourceArn=run.job.training_job_arn, TagKeys=["made_by_lesson"]
        )
        return run.job
    script = folder / "sleep.py"
    script.write_text("import time; time.sleep(10_000)")
    job = aiplatform.CustomTrainingJob("no-lesson", str(script), side.images.image_for(None))
    job.submit(base_output_dir=f"{side.session.current_session().uri}/runs/no-lesson")
    return job


@pytest.mark.usefixtures("quick")
def test_a_bucket_that_connect_made_goes_with_all_that_is_in_it(
    side: Side, data: Data, tmp_path: Path, capsys: Printed
) -> None:
    verbs = side.helpers
    connection = verbs.connect(bucket="made-by-connect")
    run = verbs.train(data | {"epochs": 3})
    (tmp_path / "large").write_bytes(bytes(3 << 20))
    verbs.upload(tmp_path / "large")
    capsys.readouterr()
    verbs.cleanup()
    would = capsys.readouterr().out
    assert re.search(rf"\d objects in {connection.uri}/.*, 3\.\d MiB", would)
    assert f"would delete job {side.name(run.job)} (succeeded)\n" in would
    assert would.endswith("cleanup(dry_run=False) deletes all of the above\n")
    assert len(side.keys(connection.bucket)) > 2
    verbs.cleanup(dry_run=False)
    assert (
        "Deleting CustomTrainingJob" not in capsys.readouterr().out
    )  # the SDK's own words on each
    assert not side.has_bucket(connection.bucket)
    assert side.name(run.job) not in set(verbs.list_jobs()["name"])
    capsys.readouterr()
    verbs.cleanup(dry_run=False)
    assert capsys.readouterr().out == "nothing is left of the lesson here\n"


@pytest.mark.usefixtures("connection")
def test_in_a_bucket_of_ones_own_only_what_the_jobs_wrote_is_deleted(
    side: Side, archives: Prepared, tmp_path: Path, capsys: Printed
) -> None:
    verbs = side.helpers
    side.create_bucket("my-own")
    connection = verbs.connect(bucket="my-own")
    mine = tmp_path / "thesis.txt"
    mine.write_text("two years of work")
    train_npz, val_npz = verbs.upload(archives.train, archives.val)
    verbs.upload(mine, prefix="runs")
    run = verbs.train({"train": train_npz, "val": val_npz, "epochs": 3}, spot=True)
    if side.cloud == "Amazon":
        leave_a_checkpoint(run)
    assert len(side.keys("my-own")) > 5
    verbs.cleanup(dry_run=False)
    assert side.keys("my-own") == ["runs/thesis.txt", "train_data.npz", "val_data.npz"]
    assert f"{connection.uri} was there before connect(): it stays" in capsys.readouterr().out
    assert side.name(run.job) not in set(verbs.list_jobs()["name"])


@pytest.mark.usefixtures("quick")
def test_nothing_is_deleted_while_a_job_runs(side: Side, data: Data, connection: Any) -> None:
    verbs = side.helpers
    sent = verbs.train(data | {"sleep": 10_000}, wait=False)
    with pytest.raises(LessonError, match=rf"^{side.name(sent.job)}: not ended yet; cancel\("):
        verbs.cleanup(dry_run=False)
    assert side.keys(connection.bucket)
    verbs.cancel(sent)
    verbs.wait(sent)
    verbs.cleanup(dry_run=False)
    assert not side.has_bucket(connection.bucket)


@pytest.mark.usefixtures("quick")
def test_the_jobs_of_others_in_the_account_stay_and_are_not_waited_for(
    side: Side, connection: Any, archives: Prepared, tmp_path: Path
) -> None:
    verbs = side.helpers
    side.create_bucket("lesson-of-others")
    verbs.connect(bucket="lesson-of-others")
    data = dict(zip(("train", "val"), verbs.upload(archives.train, archives.val), strict=True))
    a_lesson = verbs.train(data | {"epochs": 1})  # of somebody else, in the same account
    no_lesson = job_without_the_lesson(side, data, tmp_path)
    verbs.connect()  # our own bucket, which goes with every job that wrote into it
    data = dict(zip(("train", "val"), verbs.upload(archives.train, archives.val), strict=True))
    ours = verbs.train(data | {"epochs": 1})
    verbs.cleanup(dry_run=False)
    assert not side.has_bucket(connection.bucket)
    left = set(verbs.list_jobs()["name"])
    assert {side.name(a_lesson.job), side.name(no_lesson)} <= left
    assert side.name(ours.job) not in left
    assert side.output(a_lesson.job) in side.keys("lesson-of-others")
    verbs.cancel(no_lesson)
    verbs.wait(no_lesson)
