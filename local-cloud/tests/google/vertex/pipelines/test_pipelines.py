"""Pipeline jobs of pipelines written by hand: what is refused, cached, stopped and listed."""

from __future__ import annotations

import contextlib
import copy
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import storage
from google.cloud.aiplatform_v1.types import PipelineJob
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.pipelines import spec as pipeline_spec

BUCKET = "pipelines-by-hand"
PARENT = "projects/my-project/locations/us-central1"


def pipeline(tasks: dict[str, Any], **parameters: str) -> dict[str, Any]:
    """A compiled pipeline in which each task is (shell script, what else the task has)."""
    components, executors, tasks_of_dag = {}, {}, {}
    for name, (script, more) in tasks.items():
        inputs = {
            each: {"parameterType": "STRING"}
            for each in more.get("inputs", {}).get("parameters", {})
        }
        components[f"comp-{name}"] = {
            "executorLabel": f"exec-{name}",
            "inputDefinitions": {"parameters": inputs},
            "outputDefinitions": {"parameters": {"out": {"parameterType": "STRING"}}},
        }
        executors[f"exec-{name}"] = {
            "container": {"image": "python:3.11", "command": ["sh", "-ec", script], "args": [
                "{{$.outputs.parameters['out'].output_file}}",
                *(f"{{{{$.inputs.parameters['{each}']}}}}" for each in inputs),
            ]}
        }  # fmt: skip
        tasks_of_dag[name] = {"componentRef": {"name": f"comp-{name}"}, **more}
    declared = {name: {"parameterType": kind} for name, kind in parameters.items()}
    return {
        "schemaVersion": "2.1.0",
        "pipelineInfo": {"name": "by-hand"},
        "components": components,
        "deploymentSpec": {"executors": executors},
        "root": {"dag": {"tasks": tasks_of_dag}, "inputDefinitions": {"parameters": declared}},
    }


# Writes its second argument into the output, and notes that it ran.
WRITE = 'mkdir -p "${0%/*}"; printf %s "$1" > "$0"; echo "$1" >> /gcs/pipelines-by-hand/ran'
WAIT = "sleep 1000"


def constant(value: object) -> dict[str, Any]:
    return {"inputs": {"parameters": {"text": {"runtimeValue": {"constant": value}}}}}


def of(task: str) -> dict[str, Any]:
    source = {"taskOutputParameter": {"producerTask": task, "outputParameterKey": "out"}}
    return {"inputs": {"parameters": {"text": source}}}


DATASET = {"schemaTitle": "system.Dataset", "schemaVersion": "0.0.1"}
CACHED = {"cachingOptions": {"enableCache": True}}
Send = Callable[..., PipelineJob]


@pytest.fixture(scope="module")
def client(cloud: object) -> Any:
    from google.cloud import aiplatform

    storage.Client(project="my-project").create_bucket(BUCKET)
    aiplatform.init(project="my-project", location="us-central1", staging_bucket=f"gs://{BUCKET}")
    module: ModuleType = aiplatform
    return module.PipelineJob._empty_constructor().api_client


@pytest.fixture
def send(client: Any) -> Send:
    def create(spec: dict[str, Any], chosen: str = "", **config: Any) -> PipelineJob:
        runtime = {"gcs_output_directory": f"gs://{BUCKET}/root", **config}
        job = PipelineJob(pipeline_spec=spec, runtime_config=runtime)
        made: PipelineJob = client.create_pipeline_job(
            parent=PARENT, pipeline_job=job, pipeline_job_id=chosen
        )
        return made

    return create


def ended(client: Any, job: PipelineJob, seconds: float = 60) -> PipelineJob:
    """The job once it has ended; each look is held until then."""
    end = time.monotonic() + seconds
    while (pipeline_job := client.get_pipeline_job(name=job.name)).state.name not in (
        "PIPELINE_STATE_SUCCEEDED",
        "PIPELINE_STATE_FAILED",
        "PIPELINE_STATE_CANCELLED",
    ):
        assert time.monotonic() < end
    answer: PipelineJob = pipeline_job
    return answer


def states(job: PipelineJob) -> dict[str, str]:
    details = job.job_detail.task_details
    return {task.task_unique_name: task.state.name for task in details if task.task_unique_name}


def ran() -> list[str]:
    blob = storage.Client().bucket(BUCKET).blob("ran")
    return blob.download_as_text().split() if blob.exists() else []


def test_a_task_that_is_given_the_same_is_not_run_again(client: Any, send: Send) -> None:
    spec = pipeline(
        {
            "first": (WRITE, constant("one") | CACHED),
            "second": (f"{WRITE}; true", of("first") | CACHED),
        }
    )
    assert states(ended(client, send(spec))) == {"first": "SUCCEEDED", "second": "SUCCEEDED"}
    before = ran()
    again = ended(client, send(spec))
    assert states(again) == {"first": "SKIPPED", "second": "SKIPPED"}
    assert again.state.name == "PIPELINE_STATE_SUCCEEDED"
    assert ran() == before
    other = copy.deepcopy(spec)
    other["pipelineInfo"]["name"] = "another"  # no other pipeline shares what it has made
    assert states(ended(client, send(other)))["first"] == "SUCCEEDED"


@pytest.mark.parametrize(
    ("policy", "independent"),
    [
        ("PIPELINE_FAILURE_POLICY_FAIL_SLOW", "SUCCEEDED"),
        ("PIPELINE_FAILURE_POLICY_FAIL_FAST", "NOT_TRIGGERED"),
    ],
)
def test_what_a_failed_task_means_for_the_others(
    client: Any, send: Send, policy: str, independent: str
) -> None:
    go = storage.Client().bucket(BUCKET).blob(f"go-{policy}")
    slow = f"while [ ! -e /gcs/{BUCKET}/{go.name} ]; do sleep 0.05; done; {WRITE}"
    bad = "echo broken >&2; exit 3"
    spec = pipeline(
        {
            "bad": (bad, {"retryPolicy": {"maxRetryCount": 1}}),
            "next": (WRITE, of("bad")),
            "slow": (slow, constant("x")),
            "third": (WRITE, of("slow")),
        }
    )
    job = send(spec, failure_policy=policy)
    end = time.monotonic() + 60
    while states(client.get_pipeline_job(name=job.name)).get("bad") != "FAILED":
        assert time.monotonic() < end
    go.upload_from_string("")  # only now can `third` begin
    job = ended(client, job)
    assert states(job) == {
        "bad": "FAILED",
        "next": "NOT_TRIGGERED",
        "slow": "SUCCEEDED",
        "third": independent,
    }
    assert job.error.message.endswith("The failed tasks are: [bad].")
    (task,) = [each for each in job.job_detail.task_details if each.task_name == "bad"]
    assert "broken" in task.error.message
    assert len(task.executor_detail.container_detail.failed_main_jobs) == 1  # run again once


def test_cancel_stops_the_tasks_that_run(client: Any, send: Send) -> None:
    job = send(pipeline({"long": (WAIT, constant("x")), "next": (WRITE, of("long"))}))
    with pytest.raises(exceptions.BadRequest, match="still running"):
        client.delete_pipeline_job(name=job.name)
    client.cancel_pipeline_job(name=job.name)
    ended_job = ended(client, job)
    assert ended_job.state.name == "PIPELINE_STATE_CANCELLED"
    assert states(ended_job) == {"long": "CANCELLED", "next": "NOT_TRIGGERED"}
    client.delete_pipeline_job(name=job.name).result()
    with pytest.raises(exceptions.NotFound):
        client.get_pipeline_job(name=job.name)


def test_several_are_cancelled_and_deleted_at_once(client: Any, send: Send) -> None:
    made = [send(pipeline({"long": (WAIT, constant("x"))})) for _ in range(2)]
    several = {"parent": PARENT, "names": [job.name for job in made]}
    cancelled = client.batch_cancel_pipeline_jobs(request=several).result()
    assert [job.name for job in cancelled.pipeline_jobs] == several["names"]
    for job in made:
        assert ended(client, job).state.name == "PIPELINE_STATE_CANCELLED"
    missing = several | {"names": [made[0].name, f"{PARENT}/pipelineJobs/none"]}
    with pytest.raises(exceptions.NotFound):  # and nothing is deleted
        client.batch_delete_pipeline_jobs(request=missing)
    client.batch_delete_pipeline_jobs(request=several).result()
    with pytest.raises(exceptions.NotFound):
        client.get_pipeline_job(name=made[0].name)


def test_jobs_are_listed_without_their_tasks(client: Any, send: Send) -> None:
    made = ended(client, send(pipeline({"a": (WRITE, constant("listed"))}), "listed-job"))
    name = 'display_name="listed-job"'
    (listed,) = client.list_pipeline_jobs(request={"parent": PARENT, "filter": name})
    assert (listed.name, listed.state) == (made.name, made.state)
    assert not listed.job_detail.task_details
    with pytest.raises(exceptions.Conflict, match="exists"):
        send(pipeline({"a": (WRITE, constant("listed"))}), "listed-job")


def test_parameters_are_checked(send: Send) -> None:
    spec = pipeline({"a": (WRITE, constant("x"))}, epochs="NUMBER_INTEGER")
    for values, message in (
        ({}, "parameterValues.epochs: required"),
        ({"epochs": 1, "epoch": 1}, "no parameter 'epoch'"),
        ({"epochs": "many"}, "'many' is not a NUMBER_INTEGER"),
        ({"epochs": 1.5}, "1.5 is not a NUMBER_INTEGER"),
        ({"epochs": True}, "True is not a NUMBER_INTEGER"),
    ):
        with pytest.raises(exceptions.BadRequest, match=message):
            send(spec, parameter_values=values)


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    spec = pipeline({"a": (WRITE, constant("x")), "b": (WRITE, of("a"))})
    change(spec)
    return spec


def task(spec: dict[str, Any], name: str = "a") -> dict[str, Any]:
    task_of_spec: dict[str, Any] = spec["root"]["dag"]["tasks"][name]
    return task_of_spec


def executors(spec: dict[str, Any]) -> dict[str, Any]:
    executors_of_spec: dict[str, Any] = spec["deploymentSpec"]["executors"]
    return executors_of_spec


def container(spec: dict[str, Any]) -> dict[str, Any]:
    container_of_spec: dict[str, Any] = executors(spec)["exec-a"]["container"]
    return container_of_spec


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda spec: spec.update(schemaVersion="2.0.0"), "schema version '2.0.0'"),
        (lambda spec: spec.pop("root"), "not a compiled pipeline"),
        (lambda spec: task(spec).update(of("b")), "tasks wait for each other"),
        (lambda spec: task(spec).update(of("c")), "waits for 'c', and there is no such task"),
        (lambda spec: task(spec)["componentRef"].update(name="x"), "there is no component 'x'"),
        (lambda spec: task(spec).update(artifactIterator={}), "a loop over artifacts"),
        (lambda spec: task(spec).update(triggerPolicy={"condition": "1 +"}), "cannot be read"),
        (lambda spec: task(spec).update(triggerPolicy={"strategy": "NOW"}), "strategy NOW"),
        (lambda spec: task(spec).update(inputs={"parameters": {"text": {}}}), "from nowhere"),
        (lambda spec: executors(spec).update({"exec-a": {"customJob": {}}}), "customJob"),
        (lambda spec: container(spec).update(image=""), "names no image"),
        (lambda spec: container(spec).update(args=["{{$.x}}"]), r"the placeholder \{\{\$.x"),
        (lambda spec: spec["components"]["comp-a"].update(dag=spec["root"]["dag"]), "itself"),
        (
            lambda spec: task(spec).update(constant(["{{$.pipeline_job_schedule_time_utc}}"])),
            r"the input text: the placeholder \{\{\$.pipeline_job_schedule_time_utc",
        ),
        (
            lambda spec: container(spec).update(image=f"{pipeline_spec.READY_MADE}:2.19.0"),
            "google-cloud-pipeline-components",
        ),
    ],
)  # fmt: skip
def test_what_is_missing_is_refused_by_name(
    send: Send, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    refused = (exceptions.BadRequest, exceptions.MethodNotImplemented)
    with pytest.raises(refused, match=message):
        send(changed(change))


def test_a_file_of_kfp_1_says_how_to_compile_it_anew(client: Any, tmp_path: Path) -> None:
    from google.cloud import aiplatform

    old = {"schemaVersion": "2.0.0", "sdkVersion": "kfp-1.8.22"}
    spec = pipeline({"a": (WRITE, constant("x"))}) | old
    file = tmp_path / "pipeline.json"
    file.write_text(json.dumps({"pipelineSpec": spec, "runtimeConfig": {}}))
    job = aiplatform.PipelineJob(
        display_name="old", template_path=str(file), pipeline_root=f"gs://{BUCKET}/old"
    )
    words = r"'2\.0\.0', which kfp-1\.8\.22 has compiled.*pip install 'kfp>=2'.*kfp\.v2"
    with pytest.raises(exceptions.MethodNotImplemented, match=words):
        job.submit()


def test_a_job_says_as_which_service_account_it_runs(client: Any, send: Send) -> None:
    spec = pipeline({"a": (WRITE, constant("x"))})
    made = send(spec)
    number = made.name.split("/")[1]
    assert made.service_account == f"{number}-compute@developer.gserviceaccount.com"
    mine = "trainer@my-project.iam.gserviceaccount.com"
    job = PipelineJob(
        pipeline_spec=spec,
        runtime_config={"gcs_output_directory": f"gs://{BUCKET}/root"},
        service_account=mine,
    )
    sent = client.create_pipeline_job(parent=PARENT, pipeline_job=job)
    assert client.get_pipeline_job(name=sent.name).service_account == mine


def test_a_root_that_is_no_bucket_is_refused(client: Any, send: Send) -> None:
    with pytest.raises(exceptions.BadRequest, match="gcsOutputDirectory"):
        send(pipeline({"a": (WRITE, constant("x"))}), gcs_output_directory="/tmp/x")
    words = r"1\.Field: pipeline_job\.runtime_config\.gcs_output_directory; .* is empty\."
    with pytest.raises(exceptions.BadRequest, match=words):
        send(pipeline({"a": (WRITE, constant("x"))}), gcs_output_directory="")
    with pytest.raises(exceptions.BadRequest, match="pipelineSpec: required"):
        send({})


def test_an_output_that_does_not_fit_fails_its_task(client: Any, send: Send) -> None:
    spec = pipeline({"a": (WRITE, constant("not a number"))})
    outputs = spec["components"]["comp-a"]["outputDefinitions"]["parameters"]
    outputs["out"]["parameterType"] = "NUMBER_DOUBLE"
    job = ended(client, send(spec))
    (detail,) = [each for each in job.job_detail.task_details if each.task_name == "a"]
    assert detail.error.message == "output out: 'not a number' is not a NUMBER_DOUBLE"


def test_an_artifact_is_imported_once_and_a_bad_one_fails_its_task(client: Any, send: Send) -> None:
    spec = pipeline({"a": (WRITE, constant("x"))})
    spec["components"]["comp-a"] |= {
        "inputDefinitions": {},
        "outputDefinitions": {"artifacts": {"artifact": {"artifactType": DATASET}}},
    }
    task(spec)["inputs"] = {}
    importer = {"artifactUri": {"constant": f"gs://{BUCKET}/x"}, "typeSchema": DATASET}
    executors(spec)["exec-a"] = {"importer": importer}
    names = set()
    for _ in range(2):
        (detail,) = [
            each
            for each in ended(client, send(spec)).job_detail.task_details
            if each.task_name == "a"
        ]
        names.add(detail.outputs["artifact"].artifacts[0].name)
    assert len(names) == 1
    importer |= {"reimport": True, "metadata": "no object"}
    job = ended(client, send(spec))
    assert states(job) == {"a": "FAILED"}
    assert job.state.name == "PIPELINE_STATE_FAILED"


def test_a_value_that_looks_like_a_placeholder_stays_what_it_is(client: Any, send: Send) -> None:
    """A pipeline's constant is filled in, a value that somebody sends for a parameter is not."""
    given = {"inputs": {"parameters": {"text": {"componentInputParameter": "text"}}}}
    spec = pipeline(
        {
            "a": (WRITE, given),
            "b": (WRITE, constant("{{$.pipeline_task_name}} of {{$.pipeline_job_name}}")),
            "c": (WRITE, constant("{{$x}} and {{ braces }}")),
        },
        text="STRING",
    )
    values = {"text": "{{$.pipeline_root}}{{$.inputs.parameters['text']}}"}
    job = ended(client, send(spec, "placeholders", parameter_values=values))
    outputs = {
        each.task_name: each.execution.metadata["output:out"]
        for each in job.job_detail.task_details
        if each.task_unique_name
    }
    assert outputs["a"] == values["text"]
    assert outputs["b"] == "b of placeholders"
    assert outputs["c"] == "{{$x}} and {{ braces }}"


PLACES = st.lists(st.integers(0, 30), min_size=1, max_size=12)
OTHERS = st.sampled_from([None, 0, -1, 1.5, "", "x", [], ["x"], {}, {"x": {}}, True, "DELETE"])


@given(PLACES, OTHERS)
def test_a_damaged_pipeline_is_refused_or_can_be_walked_through(
    way: list[int], other: object
) -> None:
    """Whatever is replaced or missing in a pipeline: a sentence, never a fault."""
    spec = pipeline(
        {
            "a": (WRITE, constant("x") | {"triggerPolicy": {"condition": "true"}}),
            "b": (WRITE, of("a") | {"retryPolicy": {"maxRetryCount": 1}}),
        }
    )
    place: Any = spec
    for step in way:
        keys = list(place) if isinstance(place, dict) else [*range(len(place))]
        if not keys:
            return
        key = keys[step % len(keys)]
        if step == way[-1] or not isinstance(place[key], dict | list):
            if other == "DELETE":
                del place[key]
            else:
                place[key] = other
            break
        place = place[key]
    with contextlib.suppress(ApiError):
        pipeline_spec.parameters(pipeline_spec.check(spec).root, {})
