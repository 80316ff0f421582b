"""The model registry, driven by the real SDK."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions

SERVING = "us-docker.pkg.dev/vertex-ai/prediction/pytorch-cpu.2-4:latest"


def upload(aiplatform: ModuleType, **more: Any) -> Any:
    return aiplatform.Model.upload(
        display_name="titanic",
        artifact_uri="gs://somewhere/model",
        serving_container_image_uri=SERVING,
        **more,
    )


def test_upload_get_list_and_delete(aiplatform: ModuleType) -> None:
    model = upload(aiplatform, labels={"made-by": "upload-test"})
    assert model.uri == "gs://somewhere/model"
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
