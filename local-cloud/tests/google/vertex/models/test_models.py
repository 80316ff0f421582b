"""The model registry, driven by the real SDK."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import storage
from google.protobuf import field_mask_pb2

from tests.google.vertex.support import BUCKET

SERVING = "us-docker.pkg.dev/vertex-ai/prediction/pytorch-cpu.2-4:latest"
ARTIFACTS = f"gs://{BUCKET}/a-model"


@pytest.fixture(scope="module", autouse=True)
def artifacts(aiplatform: ModuleType) -> None:
    """What a job would have left behind."""
    storage.Client().bucket(BUCKET).blob("a-model/model.pt").upload_from_string("weights")


def upload(aiplatform: ModuleType, **more: Any) -> Any:
    settings = {
        "display_name": "titanic",
        "artifact_uri": ARTIFACTS,
        "serving_container_image_uri": SERVING,
    }
    return aiplatform.Model.upload(**settings | more)


def test_upload_get_list_and_delete(aiplatform: ModuleType) -> None:
    model = upload(aiplatform, labels={"made-by": "upload-test"})
    assert model.uri == ARTIFACTS
    assert aiplatform.Model(model.resource_name).display_name == "titanic"
    listed = aiplatform.Model.list(filter="labels.made-by=upload-test")
    assert [item.name for item in listed] == [model.name]
    model.delete()
    with pytest.raises(exceptions.NotFound):
        aiplatform.Model(model.resource_name)


def test_versions_have_numbers_and_aliases_that_move(aiplatform: ModuleType) -> None:
    first = upload(aiplatform)
    second = upload(
        aiplatform,
        parent_model=first.resource_name,
        version_aliases=["best"],
        is_default_version=True,
    )
    assert (first.version_id, second.version_id) == ("1", "2")
    versions = first.versioning_registry.list_versions()
    aliases = {item.version_id: list(item.version_aliases) for item in versions}
    assert aliases == {"1": [], "2": ["best", "default"]}
    assert aiplatform.Model(first.resource_name).version_id == "2"
    assert aiplatform.Model(f"{first.resource_name}@best").version_id == "2"
    assert aiplatform.Model(f"{first.resource_name}@1").version_id == "1"
    with pytest.raises(exceptions.BadRequest, match="default"):
        first.versioning_registry.delete_version("2")
    first.versioning_registry.delete_version("1")
    assert [item.version_id for item in second.versioning_registry.list_versions()] == ["2"]


def test_a_chosen_id_is_kept_and_cannot_be_taken_twice(aiplatform: ModuleType) -> None:
    model = upload(aiplatform, model_id="titanic-small")
    assert model.name == "titanic-small"
    with pytest.raises(exceptions.Conflict):
        upload(aiplatform, model_id="titanic-small")


def test_a_parent_that_does_not_exist_is_not_found(aiplatform: ModuleType) -> None:
    with pytest.raises(exceptions.NotFound):
        upload(aiplatform, parent_model="123456")


def test_a_parent_may_be_named_by_its_id(aiplatform: ModuleType) -> None:
    first = upload(aiplatform)
    assert upload(aiplatform, parent_model=first.name).resource_name == first.resource_name
    again = upload(aiplatform, parent_model=f"{first.resource_name}@1")
    assert (again.name, again.version_id) == (first.name, "3")
    with pytest.raises(exceptions.BadRequest, match="modelId"):
        upload(aiplatform, model_id="Titanic@1")


@pytest.mark.parametrize("address", ["gs://no-such-bucket/model", f"gs://{BUCKET}/a-mod"])
def test_artifacts_have_to_be_there(aiplatform: ModuleType, address: str) -> None:
    with pytest.raises(exceptions.BadRequest, match=f"no files under the folder {address}"):
        upload(aiplatform, artifact_uri=address)
    assert upload(aiplatform, artifact_uri=f"{ARTIFACTS}/").uri == f"{ARTIFACTS}/"


def test_aliases_are_added_moved_and_removed(aiplatform: ModuleType) -> None:
    model = upload(aiplatform)
    upload(aiplatform, parent_model=model.resource_name, is_default_version=False)
    registry = model.versioning_registry

    def aliases() -> dict[str, list[str]]:
        return {one.version_id: list(one.version_aliases) for one in registry.list_versions()}

    registry.add_version_aliases(["champion", "first"], version="1")
    assert aliases() == {"1": ["default", "champion", "first"], "2": []}
    registry.add_version_aliases(["champion", "default"], version="2")
    assert aliases() == {"1": ["first"], "2": ["champion", "default"]}
    registry.remove_version_aliases(["champion"], version="2")
    assert aliases() == {"1": ["first"], "2": ["default"]}
    assert registry.get_version_info("first").version_id == "1"
    with pytest.raises(exceptions.BadRequest, match="default cannot be removed"):
        registry.remove_version_aliases(["default"], version="2")
    with pytest.raises(exceptions.BadRequest, match="'No!' is not valid"):
        registry.add_version_aliases(["No!"], version="1")
    with pytest.raises(exceptions.NotFound):
        registry.add_version_aliases(["third"], version="3")
    assert aliases() == {"1": ["first"], "2": ["default"]}


def test_a_version_is_described_apart_from_its_model(aiplatform: ModuleType) -> None:
    model = upload(aiplatform, version_description="the first")
    more = {"parent_model": model.name, "is_default_version": False}  # it would be by itself
    upload(aiplatform, version_description="the second", **more)
    registry = aiplatform.models.ModelRegistry(model.resource_name)
    registry.update_version("2", version_description="wider", labels={"made-by": "versions-test"})
    told = {one.version_id: one.version_description for one in registry.list_versions()}
    assert told == {"1": "the first", "2": "wider"}
    (versions,) = registry.list_versions(filter="labels.made-by=versions-test")
    assert versions.version_id == "2"
    assert registry.get_model("2").versioned_resource_name == f"{model.resource_name}@2"

    first = registry.get_model().update(display_name="Titanic", labels={"of": "all"})
    assert (first.display_name, first.labels) == ("Titanic", {"of": "all"})
    second = registry.get_model("2")
    assert second.display_name == "Titanic"
    assert second.labels == {"of": "all", "made-by": "versions-test"}
    # The SDK itself never asks for this: the name in the request says which of the two is meant.
    renamed = type(second.gca_resource)(name=second.versioned_resource_name, display_name="other")
    with pytest.raises(exceptions.BadRequest, match="displayName is no field"):
        second.api_client.update_model(
            model=renamed, update_mask=field_mask_pb2.FieldMask(paths=["display_name"])
        )
