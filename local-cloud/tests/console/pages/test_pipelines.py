"""Pipelines of both clouds as graphs: tasks with their states, in the order in which they wait."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from urllib.parse import quote

import boto3
import pytest

from local_cloud.client.control import Status
from local_cloud.console.charts import graphs
from local_cloud.console.site.tables import Cell
from testing.visitor import Visitor
from tests.console.filled_cloud import ROLE, TRAINING_IMAGE, pipeline

BUCKET = "console-pipelines"


@pytest.fixture(scope="module")
def run(cloud: Status) -> str:
    """A pipeline job of three tasks that has begun."""
    from google.cloud import aiplatform, storage

    storage.Client(project="console-project").create_bucket(BUCKET)
    aiplatform.init(project="console-project", location="us-central1")
    return pipeline("<i>Titanic</i>", BUCKET)


@pytest.fixture(scope="module")
def execution(cloud: Status) -> Iterator[str]:
    """An execution of a pipeline with one step that waits until it is stopped."""
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    arguments = {
        "RoleArn": ROLE,
        "AlgorithmSpecification": {
            "TrainingImage": TRAINING_IMAGE,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "-c", "import time; time.sleep(1000)"],
        },
        "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
        "ResourceConfig": {
            "InstanceType": "ml.m5.large",
            "InstanceCount": 1,
            "VolumeSizeInGB": 10,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
    }
    steps = [
        {"Name": "first", "Type": "Training", "Arguments": arguments},
        {"Name": "second", "Type": "Training", "Arguments": arguments, "DependsOn": ["first"]},
    ]
    sagemaker = boto3.client("sagemaker")
    sagemaker.create_pipeline(
        PipelineName="two-steps",
        PipelineDefinition=json.dumps({"Version": "2020-12-01", "Steps": steps}),
        RoleArn=ROLE,
        ClientRequestToken="t" * 32,
    )
    begun = sagemaker.start_pipeline_execution(
        PipelineName="two-steps", ClientRequestToken="e" * 32
    )
    yield begun["PipelineExecutionArn"]


def until(visitor: Visitor, name: str, words: str) -> str:
    end, page = time.monotonic() + 60, f"/console/pipeline?name={quote(name, safe='')}"
    while words not in (answer := visitor.get(page)):
        assert time.monotonic() < end, answer.text
        time.sleep(0.1)
    return answer.text


def test_a_pipeline_job_is_drawn_from_top_to_bottom(run: str, visitor: Visitor) -> None:
    text = until(visitor, run, 'id="state"><span class="chip good">Succeeded<')
    assert text.index("prepare, Succeeded;") < text.index("train, Succeeded, after prepare")
    assert "judge, Succeeded, after train" in text and "report, Succeeded, after prepare" in text
    assert text.count('class="edge"') == 3 and text.count('<a href="./jobs/') == 4
    assert "<i>" not in text and "&lt;i&gt;Titanic" in text
    assert "Titanic" in visitor.get("/console/pipelines")
    assert "Titanic" in visitor.get("/console/search?q=titanic")
    job = re.search(r'<a href="\./(jobs/[^"]+)">judge', text)
    assert job and visitor.get(f"/console/{job[1]}").status == 200
    link = visitor.get(f"/console/at/vertex-ai/pipelines/runs/{run.rpartition('/')[2]}")
    assert link.status == 303 and "pipeline?name=" in link.headers["location"]
    page = f"/console/pipeline?name={quote(run, safe='')}"
    visitor.press(page, "Delete the run")
    assert visitor.get(page).status == 404
    rows = visitor.get("/console/jobs").text
    assert f"deleted pipeline {run.rpartition('/')[2]}" in rows and "<summary>4 tasks " in rows


def test_an_execution_is_stopped_by_its_button(execution: str, visitor: Visitor) -> None:
    text = until(visitor, execution, "first, Executing; second, Not started, after first")
    assert "two-steps" in text
    rows = visitor.get("/console/jobs").text.partition(">two-steps, ")[2]
    assert "<summary>1 task " in rows, "its job is folded into its row"
    visitor.press(f"/console/pipeline?name={quote(execution, safe='')}", "Stop the pipeline")
    until(visitor, execution, ">Stopped<")


def chain(*pairs: tuple[str, str]) -> list[graphs.Task]:
    names = dict.fromkeys(name for pair in pairs for name in pair)
    return [
        graphs.Task(name, frozenset(a for a, b in pairs if b == name), Cell("Ready"))
        for name in names
    ]


def test_each_task_is_below_all_that_it_waits_for() -> None:
    graph = graphs.graph(chain(("a", "d"), ("a", "b"), ("b", "c"), ("c", "d")))
    rows = {box.task.name: box.y for box in graph.boxes}
    assert rows["a"] < rows["b"] < rows["c"] < rows["d"]
    assert all(box.x >= 0 and box.x + box.width <= graph.width for box in graph.boxes)
    assert all(box.y + box.height <= graph.height for box in graph.boxes)


def test_a_circle_that_no_service_takes_ends_too() -> None:
    assert len(graphs.graph(chain(("a", "b"), ("b", "a"))).boxes) == 2


def test_steps_inside_a_condition_wait_for_it() -> None:
    inner = {"Name": "in", "Type": "Training", "Arguments": {"X": {"Get": "Steps.train.Y"}}}
    steps = [
        {"Name": "train", "Type": "Training", "Arguments": {}},
        {
            "Name": "check",
            "Type": "Condition",
            "Arguments": {
                "Conditions": [{"LeftValue": {"Get": "Steps.train.Y"}}],
                "IfSteps": [inner],
                "ElseSteps": [],
            },
        },
    ]
    tasks = graphs.of_sagemaker(json.dumps({"Steps": steps}), {})
    needs = {each.name: set(each.needs) for each in tasks}
    assert needs == {"train": set(), "check": {"train"}, "in": {"check", "train"}}
