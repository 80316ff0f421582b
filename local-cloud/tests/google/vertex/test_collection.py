"""A collection makes any resource of the API from its proto: its fields, and those it requires."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.cloud.aiplatform_v1.types import (
    DeploymentResourcePool,
    MetadataSchema,
    MetadataStore,
    PersistentResource,
    Schedule,
    SpecialistPool,
    Tensorboard,
    TensorboardTimeSeries,
)

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.store.records import Records

PARENT = "projects/1/locations/us-central1"


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    records = Records(tmp_path / "records.db")
    yield records
    records.close()


@pytest.mark.parametrize(
    ("proto", "filled_in"),
    [
        (Tensorboard, {"name", "createTime", "updateTime", "etag"}),
        (MetadataStore, {"name", "createTime", "updateTime"}),
        (MetadataSchema, {"name", "createTime"}),
    ],
)
def test_the_service_fills_in_only_fields_that_the_proto_has(
    records: Records, proto: Any, filled_in: set[str]
) -> None:
    kind = Collection(records, "things", proto)
    sent = {
        Tensorboard: {"displayName": "x"},
        MetadataStore: {"description": "x"},
        MetadataSchema: {"schema": "x"},
    }[proto]
    made = kind.create(PARENT, sent)
    assert set(made) - set(sent) == filled_in
    proto.from_json(str(made).replace("'", '"'))  # no field is unknown to the client

    changed = kind.patch(made["name"], sent, "")
    assert set(changed) == set(made)
    kind.delete(made["name"])
    assert kind.children(PARENT) == []


@pytest.mark.parametrize(
    ("proto", "sent", "field"),
    [
        (Tensorboard, {}, "tensorboard.displayName"),
        (Tensorboard, {"displayName": ""}, "tensorboard.displayName"),
        (TensorboardTimeSeries, {"displayName": "x"}, "tensorboardTimeSeries.valueType"),
        (PersistentResource, {"displayName": "x"}, "persistentResource.resourcePools"),
        (DeploymentResourcePool, {}, "deploymentResourcePool.dedicatedResources"),
    ],
)
def test_a_resource_without_a_field_that_its_proto_requires_is_refused_by_its_name(
    records: Records, proto: Any, sent: dict[str, Any], field: str
) -> None:
    with pytest.raises(ApiError, match=rf"^{field}: required$") as refused:
        Collection(records, "things", proto).create(PARENT, sent)
    assert refused.value.status == "INVALID_ARGUMENT"


def test_a_required_number_may_be_0_and_the_name_is_the_service_s(records: Records) -> None:
    made = Collection(records, "schedules", Schedule).create(
        PARENT, {"displayName": "x", "cron": "* * * * *", "maxConcurrentRunCount": "0"}
    )
    assert made["displayName"] == "x"
    made = Collection(records, "pools", SpecialistPool).create(PARENT, {"displayName": "x"})
    assert made["name"].startswith(f"{PARENT}/pools/")


def test_a_field_that_is_required_may_be_written_in_snake_case(records: Records) -> None:
    made = Collection(records, "boards", Tensorboard).create(PARENT, {"display_name": "x"})
    assert made["displayName"] == "x"


def test_a_change_need_not_have_what_is_required(records: Records) -> None:
    kind = Collection(records, "boards", Tensorboard)
    made = kind.create(PARENT, {"displayName": "x"})
    changed = kind.patch(made["name"], {"description": "y"}, "description")
    assert (changed["displayName"], changed["description"]) == ("x", "y")
