"""The real Resource Manager client, and the helpers of google-cloud-aiplatform that make one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import requests
from google.api_core.exceptions import Forbidden, MethodNotImplemented
from google.auth.credentials import AnonymousCredentials
from google.cloud import resourcemanager_v3, storage
from google.cloud.aiplatform import initializer
from google.cloud.aiplatform.utils import gcs_utils, resource_manager_utils

from local_cloud.client.control import Status


@pytest.fixture
def client(cloud: Status) -> resourcemanager_v3.ProjectsClient:
    return resourcemanager_v3.ProjectsClient(credentials=AnonymousCredentials())


def test_a_project_has_a_number_and_is_found_by_it(
    client: resourcemanager_v3.ProjectsClient,
) -> None:
    project = client.get_project(name="projects/projects-of-tests")
    assert project.project_id == "projects-of-tests"
    assert project.state.name == "ACTIVE"
    number = project.name.removeprefix("projects/")
    assert number.isdecimal()
    assert client.get_project(name=f"projects/{number}") == project
    assert resource_manager_utils.get_project_id(number) == "projects-of-tests"
    assert resource_manager_utils.get_project_number("projects-of-tests") == number


def test_a_project_is_known_as_soon_as_a_request_names_it(
    client: resourcemanager_v3.ProjectsClient,
) -> None:
    bucket = storage.Client(project="named-by-a-bucket").create_bucket("names-its-project")
    project = client.get_project(name=f"projects/{bucket.project_number}")
    assert project.project_id == "named-by-a-bucket"


def test_a_number_that_no_project_has_is_refused(
    client: resourcemanager_v3.ProjectsClient,
) -> None:
    with pytest.raises(Forbidden, match="or it may not exist"):
        client.get_project(name="projects/123456789012")


def test_gcloud_reads_projects_by_v1(client: resourcemanager_v3.ProjectsClient) -> None:
    """`gcloud config set project` and `gcloud projects` do."""
    url = os.environ["LOCAL_CLOUD_VERTEX_URL"] + "/v1/projects"
    project = requests.get(f"{url}/read-by-gcloud").json()
    assert (project["projectId"], project["lifecycleState"]) == ("read-by-gcloud", "ACTIVE")
    name = client.get_project(name="projects/read-by-gcloud").name
    assert f"projects/{project['projectNumber']}" == name
    assert project in requests.get(url).json()["projects"]
    assert requests.get(f"{url}/123456789012").status_code == 403


def test_other_calls_are_not_implemented(client: resourcemanager_v3.ProjectsClient) -> None:
    with pytest.raises(MethodNotImplemented):
        client.delete_project(name="projects/my-project")


def test_the_sdk_s_own_staging_bucket_is_used_again(
    cloud: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK makes it, and the next time it asks whether the bucket is the project's."""
    monkeypatch.setattr(initializer.global_config, "_staging_bucket", None)  # none was named
    file = tmp_path / "table.csv"
    file.write_text("x,y\n1,2\n")
    for _ in range(2):
        uri = gcs_utils.stage_local_data_in_gcs(
            str(file), project="staging-project", location="us-central1"
        )
        assert storage.Blob.from_uri(uri, storage.Client()).download_as_text() == "x,y\n1,2\n"
    with pytest.raises(ValueError, match="squatting"):
        gcs_utils.create_gcs_bucket_for_pipeline_artifacts_if_it_does_not_exist(
            uri, project="another-project"
        )


def test_the_bucket_for_pipelines_is_made_with_its_policy(cloud: Status) -> None:
    for _ in range(2):
        uri = gcs_utils.create_gcs_bucket_for_pipeline_artifacts_if_it_does_not_exist(
            project="pipelines-project", location="us-central1"
        )
    policy = gcs_utils.bucket_from_uri(uri, storage.Client()).get_iam_policy()
    number = resource_manager_utils.get_project_number("pipelines-project")
    account = f"serviceAccount:{number}-compute@developer.gserviceaccount.com"
    assert policy["roles/storage.objectCreator"] == {account}
