"""CustomTrainingJob: a script, packed and sent by the real SDK, really runs."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions

from tests.google.vertex.support import BUCKET, IMAGE, REPORT, Script, read


def job(aiplatform: ModuleType, path: str, **more: Any) -> Any:
    return aiplatform.CustomTrainingJob(
        display_name="a-test", script_path=path, container_uri=IMAGE, **more
    )


def test_a_script_runs_with_its_arguments_and_the_services_environment(
    aiplatform: ModuleType, script: Script
) -> None:
    sent = job(aiplatform, script(REPORT))
    model = sent.run(
        args=["--epochs=3", "--name=with blanks", "--rate", 0.001, 50],
        environment_variables={"COLOUR": "blue", "PYTHONPATH": "/my/modules"},
        base_output_dir=f"gs://{BUCKET}/report",
        replica_count=1,
        machine_type="n1-standard-4",
    )
    assert model is None  # no serving image, no model
    assert sent.state.name == "PIPELINE_STATE_SUCCEEDED"
    seen = read(f"gs://{BUCKET}/report/model/replica-0.json")
    words = ["--epochs=3", "--name=with blanks", "--rate", "0.001", "50"]
    assert seen["arguments"] == words  # arguments may be numbers
    environment = seen["environment"]
    assert environment["COLOUR"] == "blue"
    assert environment["PYTHONPATH"].startswith("/my/modules:")
    assert environment["AIP_MODEL_DIR"] == f"gs://{BUCKET}/report/model/"
    assert environment["AIP_CHECKPOINT_DIR"] == f"gs://{BUCKET}/report/checkpoints/"
    assert environment["AIP_TENSORBOARD_LOG_DIR"] == f"gs://{BUCKET}/report/logs/"
    assert (environment["RANK"], environment["WORLD_SIZE"]) == ("0", "1")
    assert "TF_CONFIG" not in environment  # set for jobs of several replicas only
    cluster = json.loads(environment["CLUSTER_SPEC"])
    assert list(cluster["cluster"]) == ["workerpool0"]
    assert cluster["task"] == {"type": "workerpool0", "index": 0}
    assert environment["CLOUD_ML_PROJECT_ID"].isdigit()
    inputs = sent.gca_resource.training_task_inputs  # as the service writes them
    assert inputs["baseOutputDirectory"]["outputUriPrefix"] == f"gs://{BUCKET}/report"
    pool = inputs["workerPoolSpecs"][0]
    assert pool["machineSpec"]["machineType"] == "n1-standard-4"
    assert list(pool["pythonPackageSpec"]["args"]) == words
    with pytest.raises(RuntimeError, match="already run"):
        sent.run()


def test_a_failing_script_raises_with_its_exit_code_and_its_last_lines(
    aiplatform: ModuleType, script: Script
) -> None:
    sent = job(aiplatform, script("print('so far so good')\nraise SystemExit('out of luck')"))
    with pytest.raises(RuntimeError, match="non-zero status of 1") as caught:
        sent.run(machine_type="n1-standard-4")
    assert "out of luck" in str(caught.value)
    assert "workerpool0-0" in str(caught.value)
    assert sent.state.name == "PIPELINE_STATE_FAILED"


def test_a_serving_image_makes_a_model_of_what_was_trained(
    aiplatform: ModuleType, script: Script
) -> None:
    sent = job(
        aiplatform,
        script("print('trained')"),
        model_serving_container_image_uri="us-docker.pkg.dev/vertex-ai/prediction/x:latest",
    )
    model = sent.run(model_display_name="first", base_output_dir=f"gs://{BUCKET}/made")
    assert model.display_name == "first"
    assert model.uri == f"gs://{BUCKET}/made/model/"
    assert (model.version_id, model.version_aliases) == ("1", ["default"])
    again = job(
        aiplatform,
        script("print('trained again')"),
        model_serving_container_image_uri="us-docker.pkg.dev/vertex-ai/prediction/x:latest",
    )
    second = again.run(parent_model=model.resource_name, model_version_aliases=["wider"])
    assert (second.name, second.version_id) == (model.name, "2")
    assert set(second.version_aliases) == {"wider", "default"}  # the SDK asks for default, too


def test_every_replica_knows_its_place(aiplatform: ModuleType, script: Script) -> None:
    job(aiplatform, script(REPORT)).run(
        replica_count=3, base_output_dir=f"gs://{BUCKET}/three", machine_type="n1-standard-4"
    )
    places = []
    for rank in range(3):
        environment = read(f"gs://{BUCKET}/three/model/replica-{rank}.json")["environment"]
        cluster = json.loads(environment["CLUSTER_SPEC"])
        places.append(
            (environment["WORLD_SIZE"], cluster["task"]["type"], cluster["task"]["index"])
        )
        assert [len(hosts) for hosts in cluster["cluster"].values()] == [1, 2]
        assert json.loads(environment["TF_CONFIG"])["task"]["type"] in ("chief", "worker")
    assert places == [("3", "workerpool0", 0), ("3", "workerpool1", 0), ("3", "workerpool1", 1)]


def test_an_accelerator_that_is_not_here_is_said_to_be_missing(
    aiplatform: ModuleType, script: Script
) -> None:
    sent = job(aiplatform, script("print('trained')"))
    a100 = {"accelerator_type": "NVIDIA_TESLA_A100", "accelerator_count": 16}
    sent.run(machine_type="a2-megagpu-16g", **a100)
    backing = aiplatform.CustomJob.get(sent.to_dict()["trainingTaskMetadata"]["backingCustomJob"])
    assert backing.labels["local-cloud-device"] == "cpu"
    assert "16 x NVIDIA_TESLA_A100" in sent.to_dict()["trainingTaskMetadata"]["localCloudNote"]


def test_a_requirement_that_is_not_here_is_named(aiplatform: ModuleType, script: Script) -> None:
    sent = job(aiplatform, script("print('never')"), requirements=["surely-not-installed>=3"])
    with pytest.raises(RuntimeError, match="surely-not-installed"):
        sent.run()


def test_a_job_can_be_found_again_and_deleted(aiplatform: ModuleType, script: Script) -> None:
    sent = aiplatform.CustomTrainingJob(
        display_name="findable", script_path=script("print('here')"), container_uri=IMAGE,
        labels={"course": "autumn"},
    )  # fmt: skip
    sent.run()
    jobs = aiplatform.CustomTrainingJob.list(filter='display_name="findable"')
    assert [item.resource_name for item in jobs] == [sent.resource_name]
    assert aiplatform.CustomTrainingJob.list(filter="labels.course=spring") == []
    same = aiplatform.CustomTrainingJob.get(sent.resource_name)
    assert same.display_name == "findable"
    same.delete()
    with pytest.raises(exceptions.NotFound):
        aiplatform.CustomTrainingJob.get(sent.resource_name)
