"""Pipelines as the real kfp compiles them, run by the real SDK: every task is a process."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from google.cloud import storage

from local_cloud import LocalCloudError
from local_cloud.client.home import CHECKOUT

BUCKET = "pipelines-for-tests"
# Components are read from their source, so they stand in a file, as in a reader's project.
COMPONENTS = """
from kfp import dsl
from kfp.dsl import Dataset, Input, Metrics, Model, Output

component = dsl.component(base_image="python:3.11")

@component
def prepare(rows: int, data: Output[Dataset]) -> int:
    with open(data.path, "w") as file:
        file.write("row\\n" * rows)
    data.metadata["rows"] = rows
    return rows

@component
def train(
    data: Input[Dataset], rate: float, model: Output[Model], metrics: Output[Metrics]
) -> float:
    with open(data.path) as file:
        rows = len(file.readlines())
    with open(model.path, "w") as file:
        file.write(f"{rows} rows at {rate}")
    metrics.log_metric("accuracy", rows * rate)
    return rows * rate

@component
def say(text: str) -> str:
    print(text)
    return text

@component
def fail(why: str):
    raise SystemExit(why)

@component
def total(numbers: list) -> int:
    return sum(numbers)

@component
def report(status: dsl.PipelineTaskFinalStatus, out: dsl.OutputPath(str)):
    with open(out, "w") as file:
        file.write(f"{status.state} {status.pipeline_task_name}")

@dsl.container_component
def square(number: int, out: dsl.OutputPath(int)):
    return dsl.ContainerSpec(
        image="python:3.11", command=["python", "-c"],
        args=["import sys, os; os.makedirs(os.path.dirname(sys.argv[2]), exist_ok=True);"
              "open(sys.argv[2], 'w').write(str(int(sys.argv[1]) ** 2))", number, out])

@dsl.pipeline
def training(data: Input[Dataset], rate: float) -> float:
    return train(data=data, rate=rate).outputs["Output"]

@dsl.pipeline(name="train-and-say")
def train_and_say(rows: int = 4, rate: float = 0.5):
    prepared = prepare(rows=rows)
    trained = training(data=prepared.outputs["data"], rate=rate)
    with dsl.If(trained.output > 1.5):
        said = say(text=f"good: {trained.output}")
    with dsl.Else():
        other = say(text="not good")
    say(text=dsl.OneOf(said.output, other.output)).set_display_name("last")

@dsl.pipeline(name="loop-and-leave")
def loop_and_leave(why: str = "on purpose", numbers: list = [1, 2, 3]):
    with dsl.ExitHandler(report()):
        with dsl.ParallelFor(numbers, parallelism=2) as number:
            squared = square(number=number)
        fail(why=why).after(total(numbers=dsl.Collected(squared.outputs["out"])))
        with dsl.ParallelFor([{"a": "x", "b": [1, 2]}, {"a": "y", "b": []}]) as item:
            with dsl.ParallelFor(item.b) as inner:
                square(number=inner)
            with dsl.If(item.a == "y"):
                say(text="it is y")

@dsl.pipeline(name="told")
def told(numbers: list = [1, 2.5], uri: str = "gs://pipelines-for-tests/x.csv"):
    say(text="job: " + dsl.PIPELINE_JOB_RESOURCE_NAME_PLACEHOLDER)
    dsl.importer(
        artifact_uri=uri, artifact_class=Dataset, reimport=True,
        metadata={"from": uri, "parts": [uri, {"half": 0.5}]},
    )
    with dsl.ParallelFor(numbers) as number:
        say(text=number)
        with dsl.If(number == 1):
            say(text="it is 1")
"""


@pytest.fixture(scope="module")
def compiled(
    cloud: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], str]]:
    """Compile one of the pipelines; returns the file's path."""
    folder = tmp_path_factory.mktemp("pipelines")
    file = folder / "components_of_tests.py"
    file.write_text(COMPONENTS)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)

    def compile_one(name: str) -> str:
        from kfp import compiler

        path = str(folder / f"{name}.yaml")
        compiler.Compiler().compile(getattr(module, name), path)
        return path

    yield compile_one
    del sys.modules[file.stem]


@pytest.fixture(scope="module")
def sdk(cloud: object) -> ModuleType:
    from google.cloud import aiplatform

    storage.Client(project="my-project").create_bucket(BUCKET)
    aiplatform.init(project="my-project", location="us-central1", staging_bucket=f"gs://{BUCKET}")
    return aiplatform


def tasks(job: Any) -> dict[str, Any]:
    """The tasks' details by unique name."""
    return {task.task_unique_name: task for task in job.task_details}


def states(job: Any) -> dict[str, str]:
    return {name: task.state.name for name, task in tasks(job).items() if name}


def test_a_pipeline_runs_its_tasks_and_reuses_what_they_made(
    sdk: ModuleType, compiled: Callable[[str], str]
) -> None:
    job = sdk.PipelineJob(
        display_name="first", template_path=compiled("train_and_say"),
        pipeline_root=f"gs://{BUCKET}/root", parameter_values={"rate": 0.4},
    )  # fmt: skip
    job.run()
    assert states(job) == {
        "prepare": "SUCCEEDED",
        "training": "SUCCEEDED",
        "training.train": "SUCCEEDED",
        "condition-branches-1": "SUCCEEDED",
        "condition-branches-1.condition-2": "SUCCEEDED",
        "condition-branches-1.condition-2.say": "SUCCEEDED",
        "condition-branches-1.condition-3": "NOT_TRIGGERED",
        "say-3": "SUCCEEDED",
    }
    tasks_done = tasks(job)
    train = tasks_done["training.train"]
    (model,) = train.outputs["model"].artifacts
    assert dict(train.outputs["metrics"].artifacts[0].metadata) == {"accuracy": 1.6}
    blob = storage.Blob.from_uri(model.uri, storage.Client())
    assert blob.download_as_text() == "4 rows at 0.4"
    assert sdk.Artifact.get(model.name).uri == model.uri
    (data,) = train.inputs["data"].artifacts
    assert data.metadata["rows"] == 4
    assert train.execution.metadata["input:rate"] == 0.4
    assert tasks_done["say-3"].execution.metadata["output:Output"] == "good: 1.6"

    again = sdk.PipelineJob(
        display_name="again", template_path=compiled("train_and_say"),
        pipeline_root=f"gs://{BUCKET}/root", parameter_values={"rate": 0.3}, job_id="again",
    )  # fmt: skip
    again.run()
    assert states(again)["prepare"] == "SKIPPED"  # it was given the same
    assert states(again)["training.train"] == "SUCCEEDED"
    assert states(again)["condition-branches-1.condition-2"] == "NOT_TRIGGERED"
    assert tasks(again)["say-3"].execution.metadata["output:Output"] == "not good"
    rows = sdk.get_pipeline_df("train-and-say").set_index("run_name")
    rates = {rows.loc[each.name, "param.input:rate"] for each in (job, again)}
    assert rates == {0.3, 0.4}
    assert rows.loc["again", "metric.accuracy"] == pytest.approx(1.2)


def test_a_loop_runs_its_rounds_and_the_exit_task_whatever_happens(
    sdk: ModuleType, compiled: Callable[[str], str]
) -> None:
    job = sdk.PipelineJob(
        display_name="loop", template_path=compiled("loop_and_leave"),
        pipeline_root=f"gs://{BUCKET}/root", parameter_values={"why": "no luck"},
    )  # fmt: skip
    with pytest.raises(RuntimeError, match=r"The failed tasks are: \[exit-handler-1\]"):
        job.run()
    tasks_done = tasks(job)
    loop = "exit-handler-1.for-loop-2"
    squares = [tasks_done[f"{loop}.{n}.square"].execution.metadata["output:out"] for n in range(3)]
    assert squares == [1, 4, 9]
    assert tasks_done["exit-handler-1.total"].execution.metadata["output:Output"] == 14
    inner = "exit-handler-1.for-loop-4"
    assert {name for name in tasks_done if name.startswith(f"{inner}.0.for-loop-5.")} == {
        *(f"{inner}.0.for-loop-5.{n}" for n in range(2)),
        *(f"{inner}.0.for-loop-5.{n}.square-2" for n in range(2)),
    }
    assert tasks_done[f"{inner}.0.condition-6"].state.name == "NOT_TRIGGERED"
    assert tasks_done[f"{inner}.1.condition-6.say"].state.name == "SUCCEEDED"
    assert not [name for name in tasks_done if name.startswith(f"{inner}.1.for-loop-5.")]
    failed = tasks_done["exit-handler-1.fail"]
    assert failed.state.name == "FAILED"
    assert "no luck" in failed.error.message
    assert tasks_done["report"].state.name == "SUCCEEDED"
    assert tasks_done["report"].execution.metadata["output:out"] == "FAILED exit-handler-1"


def test_constants_items_and_metadata_are_what_kfp_makes_of_them(
    sdk: ModuleType, compiled: Callable[[str], str]
) -> None:
    job = sdk.PipelineJob(
        display_name="told", template_path=compiled("told"), pipeline_root=f"gs://{BUCKET}/root"
    )
    job.run()
    tasks_done = tasks(job)
    said = {
        name: dict(one.execution.metadata or {}).get("output:Output")
        for name, one in tasks_done.items()
    }
    assert said["say"] == f"job: {job.resource_name}"
    assert [said[f"for-loop-1.{n}.say-2"] for n in range(2)] == ["1", "2.5"]  # text, of numbers
    conditions = [tasks_done[f"for-loop-1.{n}.condition-2"].state.name for n in range(2)]
    assert conditions == ["SUCCEEDED", "NOT_TRIGGERED"]
    (artifact,) = tasks_done["importer"].outputs["artifact"].artifacts
    uri = f"gs://{BUCKET}/x.csv"
    told = sdk.Artifact.get(artifact.name).metadata
    assert told == {"from": uri, "parts": [uri, {"half": 0.5}]}


def test_a_run_belongs_to_an_experiment(
    sdk: ModuleType, compiled: Callable[[str], str], tmp_path: Path
) -> None:
    sdk.init(experiment="pipelines")
    job = sdk.PipelineJob(
        display_name="tracked", template_path=compiled("train_and_say"), job_id="tracked",
        pipeline_root=f"gs://{BUCKET}/root", parameter_values={"rate": 0.4},
    )  # fmt: skip
    job.submit(experiment="pipelines")
    job.wait()
    assert job.get_associated_experiment().name == "pipelines"
    (row,) = sdk.get_experiment_df("pipelines").to_dict("records")
    assert (row["run_name"], row["param.rate"]) == ("tracked", 0.4)
    assert row["metric.accuracy"] == 1.6


def test_a_template_at_a_url_is_refused_and_not_asked_for(sdk: ModuleType) -> None:
    """The SDK would read it with urllib."""
    for place in ("us-central1-kfp.pkg.dev/p/r/pipeline/latest", "example.invalid/pipeline.yaml"):
        with pytest.raises(LocalCloudError, match="not implemented in the local cloud: a template"):
            sdk.PipelineJob(display_name="x", template_path=f"https://{place}")


def test_a_machine_without_mounts_finds_artifacts_in_the_buckets_folder() -> None:
    code = (
        f"import runpy; runpy.run_path({str(CHECKOUT / 'local_cloud/client/in_job.py')!r})\n"
        "from kfp.dsl import Dataset\nprint(Dataset(uri='gs://bucket/x').path)"
    )
    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"LOCAL_CLOUD_GCS": "/data/buckets"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout == "/data/buckets/bucket/x\n"
