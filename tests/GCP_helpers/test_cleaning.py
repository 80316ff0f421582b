"""Models, endpoints and the like with the lesson's label: cleanup() deletes them, and no others."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from GCP_helpers import cleanup
from GCP_helpers.session import Session

Printed = pytest.CaptureFixture[str]


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


SERVER = """
import os
from http.server import HTTPServer, SimpleHTTPRequestHandler as Anything
HTTPServer(("127.0.0.1", int(os.environ["AIP_HTTP_PORT"])), Anything).serve_forever()
"""


def test_an_endpoint_goes_with_the_model_on_it(connection: Session) -> None:
    from google.cloud import aiplatform

    model = aiplatform.Model.upload(
        display_name="served",
        labels=connection.labels,
        serving_container_image_uri="us-docker.pkg.dev/my-project/images/served:1",
        serving_container_command=[sys.executable, "-c", SERVER],
        serving_container_health_route="/",
    )
    empty = aiplatform.Endpoint.create(display_name="full", labels=connection.labels)
    endpoint = model.deploy(endpoint=empty, machine_type="n1-standard-2")
    cleanup(dry_run=False)
    for kind, gone in ((aiplatform.Endpoint, endpoint), (aiplatform.Model, model)):
        assert gone.resource_name not in {each.resource_name for each in kind.list()}


def test_the_sdks_notes_are_silenced_for_as_long_as_it_deletes(
    connection: Session, caplog: pytest.LogCaptureFixture
) -> None:
    from google.cloud import aiplatform

    logging.disable(logging.NOTSET)
    aiplatform.Tensorboard.create(display_name="curves", labels=connection.labels)
    with caplog.at_level(logging.INFO, "google"):
        cleanup(dry_run=False)
        assert logging.root.manager.disable == logging.NOTSET
    assert not [each for each in caplog.records if "Delet" in each.getMessage()]


HELLO = {
    "schemaVersion": "2.1.0",
    "pipelineInfo": {"name": "hello"},
    "components": {"comp-hello": {"executorLabel": "exec-hello"}},
    "deploymentSpec": {
        "executors": {"exec-hello": {"container": {"image": "python:3.11", "command": ["true"]}}}
    },
    "root": {"dag": {"tasks": {"hello": {"componentRef": {"name": "comp-hello"}}}}},
}


def test_a_pipeline_goes_with_the_jobs_of_its_tasks(connection: Session, tmp_path: Path) -> None:
    from google.cloud import aiplatform

    (tmp_path / "hello.json").write_text(json.dumps({"pipelineSpec": HELLO, "runtimeConfig": {}}))
    pipeline = aiplatform.PipelineJob(
        display_name="hello",
        template_path=str(tmp_path / "hello.json"),
        pipeline_root=f"gs://{connection.bucket}/pipeline",
        labels=connection.labels,
    )
    pipeline.run(sync=True)
    (task,) = (one for one in pipeline.task_details if one.task_name == "hello")
    job = task.executor_detail.container_detail.main_job
    assert job in {each.resource_name for each in aiplatform.CustomJob.list()}
    cleanup(dry_run=False)
    for kind, gone in (
        (aiplatform.PipelineJob, pipeline.resource_name),
        (aiplatform.CustomJob, job),
    ):
        assert gone not in {each.resource_name for each in kind.list()}
