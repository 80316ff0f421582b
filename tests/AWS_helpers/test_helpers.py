"""The lesson series' own helpers: the notebook instance, the size of a bucket and its cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from AWS_helpers import helpers, upload
from AWS_helpers.session import Session, client
from lesson import LessonError


def test_a_notebook_instance_is_described(connection: Session) -> None:
    client("sagemaker").create_notebook_instance(
        NotebookInstanceName="titanic", InstanceType="ml.t3.medium", RoleArn=connection.role
    )
    instance = helpers.get_notebook_instance_info("titanic")
    assert instance["InstanceType"] == "ml.t3.medium"
    assert instance["NotebookInstanceStatus"] in ("Pending", "InService")


def test_a_notebook_instance_that_is_not_there_is_said_to_be_missing(connection: Session) -> None:
    with pytest.raises(LessonError, match=r"^there is no notebook instance nobody in this regi"):
        helpers.get_notebook_instance_info("nobody")


def test_a_buckets_size_and_cost_are_those_of_all_its_objects(
    connection: Session, tmp_path: Path
) -> None:
    client("s3").create_bucket(Bucket="sized")
    assert helpers.get_s3_bucket_size("sized")["objects"] == 0
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(bytes(2**20))
        client("s3").upload_file(str(tmp_path / name), "sized", f"folder/{name}")
    size = helpers.get_s3_bucket_size("sized")
    assert size == {"objects": 2, "bytes": 2**21, "size_mb": 2.0, "size_gb": 2 / 1024}
    assert helpers.calculate_s3_storage_cost("sized") == pytest.approx(2 / 1024 * 0.023)


def test_a_bucket_that_is_not_there_is_said_to_be_missing(connection: Session) -> None:
    with pytest.raises(LessonError, match=r"^bucket nowhere: the service answered NoSuchBucket, "):
        helpers.get_s3_bucket_size("nowhere")


def test_they_need_no_connect(connection: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    upload(__file__)
    monkeypatch.setattr("AWS_helpers.session._session", None)
    assert helpers.get_s3_bucket_size("lesson")["objects"] > 0
