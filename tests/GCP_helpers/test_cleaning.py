"""cleanup() deletes what the lesson made, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from GCP_helpers import cancel, cleanup, connect, images, list_jobs, train, upload, wait
from GCP_helpers.session import Session, client
from lesson import LessonError
from lesson.preparation import Prepared

Data = dict[str, Any]
Printed = pytest.CaptureFixture[str]


def names(bucket: str) -> list[str]:
    return [blob.name for blob in client().list_blobs(bucket)]


@pytest.mark.usefixtures("quick")
def test_a_bucket_that_connect_made_goes_with_all_that_is_in_it(
    data: Data, tmp_path: Path, capsys: Printed
) -> None:
    connection = connect(bucket="made-by-connect")
    run = train(data | {"epochs": 3})
    (tmp_path / "large").write_bytes(bytes(3 << 20))
    upload(tmp_path / "large")
    capsys.readouterr()
    cleanup()
    would = capsys.readouterr().out
    assert re.search(rf"\d objects in {connection.uri}/.*, 3\.\d MiB", would)
    assert f"would delete job {run.job.display_name} (succeeded)\n" in would
    assert would.endswith("cleanup(dry_run=False) deletes all of the above\n")
    assert len(names(connection.bucket)) > 2
    cleanup(dry_run=False)
    out = capsys.readouterr().out
    assert "Deleting CustomTrainingJob" not in out  # the SDK's own words on each
    assert client().lookup_bucket(connection.bucket) is None
    assert run.job.display_name not in set(list_jobs()["name"])
    cleanup(dry_run=False)
    assert capsys.readouterr().out == "nothing is left of the lesson here\n"


def test_in_a_bucket_of_ones_own_only_what_the_jobs_wrote_is_deleted(
    connection: Session, archives: Prepared, tmp_path: Path, capsys: Printed
) -> None:
    client().create_bucket("my-own")
    connect(bucket="my-own")
    mine = tmp_path / "thesis.txt"
    mine.write_text("two years of work")
    train_npz, val_npz = upload(archives.train, archives.val)
    upload(mine, prefix="runs")
    run = train({"train": train_npz, "val": val_npz, "epochs": 3})
    assert len(names("my-own")) > 5
    cleanup(dry_run=False)
    assert names("my-own") == ["runs/thesis.txt", "train_data.npz", "val_data.npz"]
    assert "gs://my-own was there before connect(): it stays" in capsys.readouterr().out
    assert run.job.display_name not in set(list_jobs()["name"])


@pytest.mark.usefixtures("quick")
def test_the_jobs_of_others_in_the_project_stay_and_are_not_waited_for(
    connection: Session, archives: Prepared, tmp_path: Path
) -> None:
    from google.cloud import aiplatform

    client().create_bucket("lesson-of-others")
    others = connect(bucket="lesson-of-others")
    names_of = dict(zip(("train", "val"), upload(archives.train, archives.val), strict=True))
    a_lesson = train(names_of | {"epochs": 1})  # of somebody else, in the same project
    script = tmp_path / "sleep.py"
    script.write_text("import time; time.sleep(10_000)")
    no_lesson = aiplatform.CustomTrainingJob("no-lesson", str(script), images.image_for(None))
    no_lesson.submit(base_output_dir=f"{others.uri}/runs/no-lesson")
    theirs = {a_lesson.job.display_name, no_lesson.display_name}
    connect()  # our own bucket, which goes with every job that wrote into it
    data = dict(zip(("train", "val"), upload(archives.train, archives.val), strict=True))
    ours = train(data | {"epochs": 1})
    cleanup(dry_run=False)
    assert client().lookup_bucket(connection.bucket) is None
    left = set(list_jobs()["name"])
    assert theirs <= left and ours.job.display_name not in left
    assert f"runs/{a_lesson.job.display_name}/model/metrics.json" in names("lesson-of-others")
    cancel(no_lesson)
    wait(no_lesson)


@pytest.mark.usefixtures("quick")
def test_nothing_is_deleted_while_a_job_runs(data: Data, connection: Session) -> None:
    sent = train(data | {"sleep": 10_000}, wait=False)
    with pytest.raises(LessonError, match=rf"^{sent.job.display_name}: not ended yet; cancel\("):
        cleanup(dry_run=False)
    assert names(connection.bucket)
    cancel(sent)
    wait(sent)
    cleanup(dry_run=False)
    assert client().lookup_bucket(connection.bucket) is None


def test_what_has_the_lessons_label_goes_and_nothing_else(
    connection: Session, capsys: Printed
) -> None:
    from google.cloud import aiplatform

    image = "us-docker.pkg.dev/vertex-ai/prediction/pytorch-cpu.2-4:latest"

    def register(name: str, **more: Any) -> Any:
        return aiplatform.Model.upload(display_name=name, serving_container_image_uri=image, **more)

    ours = register("titanic", labels=connection.labels)
    register("titanic", labels=connection.labels, parent_model=ours.resource_name)
    theirs = register("thesis")
    empty, kept = (
        aiplatform.Endpoint.create(display_name="an endpoint", labels=labels)
        for labels in (connection.labels, None)
    )
    board = aiplatform.Tensorboard.create(display_name="curves", labels=connection.labels)
    capsys.readouterr()
    cleanup(dry_run=False)
    out = capsys.readouterr().out
    assert "deleting Model titanic\n" in out and "deleting Tensorboard curves\n" in out
    left = {each.resource_name for each in aiplatform.Model.list()}
    assert theirs.resource_name in left and ours.resource_name not in left
    assert board.resource_name not in {one.resource_name for one in aiplatform.Tensorboard.list()}
    endpoints = {each.resource_name for each in aiplatform.Endpoint.list()}
    assert kept.resource_name in endpoints and empty.resource_name not in endpoints
    theirs.delete()
    kept.delete()
