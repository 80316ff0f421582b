"""Versions of an endpoint: traffic, restarts, models that do not start."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions

import local_cloud
from tests.google.vertex.endpoints.test_endpoints import endpoint as endpoint
from tests.google.vertex.endpoints.test_endpoints import model as model
from tests.google.vertex.support import BUCKET
from tests.google.vertex.trained_model import IMAGE, SERVE, Trained, probabilities, upload
from tests.google.vertex.tuning.test_tuning import wait_for
from tests.lesson_code import PASSENGERS


def test_an_id_is_used_again_and_a_deployment_without_a_split_leaves_the_traffic(
    aiplatform: ModuleType, endpoint: Any, model: Any, trained: Trained
) -> None:
    second = upload(aiplatform, trained, parent_model=model.resource_name)
    machine = {"machine_spec": {"machine_type": "n1-standard-2"}, "min_replica_count": 1}
    before = endpoint.traffic_split

    def deploy(version: Any) -> bool:
        deployed = {"id": "77", "model": version.versioned_resource_name}
        deployed["dedicated_resources"] = machine
        request = {"endpoint": endpoint.resource_name, "deployed_model": deployed}
        try:
            endpoint.api_client.deploy_model(request=request).result()
        except exceptions.BadRequest as problem:
            assert "the last deployment 77 still ends" in str(problem)
            return False
        return True

    for version in (model, second):
        wait_for(lambda version=version: deploy(version))
        assert endpoint.traffic_split == before
        endpoint.update(traffic_split={"77": 100})
        answer = endpoint.predict(instances=trained.rows)
        assert (answer.deployed_model_id, answer.model_version_id) == ("77", version.version_id)
        endpoint.update(traffic_split=before)
        endpoint.undeploy(deployed_model_id="77")


@pytest.mark.slow
def test_traffic_is_split_between_versions_and_survives_a_restart(
    aiplatform: ModuleType, model: Any, trained: Trained
) -> None:
    endpoint = aiplatform.Endpoint.create(display_name="two versions", labels={"a": "b"})
    with pytest.raises(exceptions.BadRequest, match="have traffic_split"):
        endpoint.predict(instances=trained.rows)
    second = upload(aiplatform, trained, parent_model=model.resource_name)
    model.deploy(endpoint=endpoint, deployed_model_display_name="one", machine_type="n1-standard-2")
    second.deploy(
        endpoint=endpoint,
        deployed_model_display_name="two",
        traffic_percentage=40,
        machine_type="n1-standard-2",
        max_replica_count=2,
    )
    ids = {each.display_name: each.id for each in endpoint.list_models()}
    assert endpoint.traffic_split == {ids["one"]: 60, ids["two"]: 40}
    versions = {endpoint.predict(instances=trained.rows).model_version_id for _ in range(60)}
    assert versions == {model.version_id, second.version_id}
    endpoint.update(traffic_split={ids["two"]: 100})
    changed = endpoint.list_models()[0]
    changed.dedicated_resources.max_replica_count = 3
    changed = aiplatform.gapic.DeployedModel(
        id=ids["one"], dedicated_resources=changed.dedicated_resources
    )
    endpoint.api_client.mutate_deployed_model(
        endpoint=endpoint.resource_name,
        deployed_model=changed,
        update_mask={"paths": ["dedicated_resources.max_replica_count"]},
    ).result()
    most = {each.id: each.dedicated_resources.max_replica_count for each in endpoint.list_models()}
    assert most == {ids["one"]: 3, ids["two"]: 2}
    local_cloud.stop()
    local_cloud.activate()
    answered_by = {endpoint.predict(instances=trained.rows).model_version_id for _ in range(10)}
    assert answered_by == {second.version_id}
    (listed,) = aiplatform.Endpoint.list(filter='display_name="two versions"')
    assert listed.resource_name == endpoint.resource_name
    with pytest.raises(exceptions.BadRequest, match="undeploy"):
        endpoint.delete()
    with pytest.raises(exceptions.BadRequest, match="deployed"):
        model.delete()
    endpoint.undeploy(deployed_model_id=ids["one"])
    assert endpoint.traffic_split == {ids["two"]: 100}
    endpoint.undeploy_all()
    assert endpoint.list_models() == []
    endpoint.delete()
    assert aiplatform.Endpoint.list(filter='display_name="two versions"') == []


def test_a_model_that_does_not_start_fails_the_deployment(
    aiplatform: ModuleType, trained: Trained
) -> None:
    endpoint = aiplatform.Endpoint.create(display_name="broken")
    command = [sys.executable, "-c", "raise SystemExit('no weights here')"]
    broken = upload(aiplatform, trained, serving_container_command=command)
    with pytest.raises(exceptions.FailedPrecondition, match="no weights here"):
        broken.deploy(endpoint=endpoint, machine_type="n1-standard-2")
    assert endpoint.list_models() == []
    endpoint.delete()
    broken.delete()


def test_a_training_job_uploads_a_model_that_answers(
    aiplatform: ModuleType, trained: Trained, tmp_path: Path
) -> None:
    """Train-to-model: the job's model folder, with the serving container that the job names."""
    script = tmp_path / "task.py"
    script.write_text(
        "import os\nfrom google.cloud import storage\n"
        "bucket, _, folder = os.environ['AIP_MODEL_DIR'].removeprefix('gs://').partition('/')\n"
        "client = storage.Client()\n"
        f"content = client.bucket('{BUCKET}').blob('served/model/model.pt').download_as_bytes()\n"
        "client.bucket(bucket).blob(folder + 'model.pt').upload_from_string(content)\n"
    )
    job = aiplatform.CustomTrainingJob(
        display_name="to a model",
        script_path=str(script),
        container_uri="us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest",
        model_serving_container_image_uri=IMAGE,
        model_serving_container_command=SERVE,
    )
    model = job.run(model_display_name="trained", machine_type="n1-standard-4")
    endpoint = model.deploy(machine_type="n1-standard-2", sync=True)
    answer = endpoint.predict(instances=PASSENGERS)
    assert probabilities(answer.predictions) == pytest.approx(trained.expected, abs=1e-6)
    endpoint.delete(force=True)
    model.delete()
