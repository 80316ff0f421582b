"""Tags: each resource's, made and deleted with it, and the three operations on them."""

from __future__ import annotations

from collections.abc import Iterable

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.protocols.json_protocol import Operation
from local_cloud.amazon.protocols.model import service_model
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.json_types import Json
from local_cloud.store.records import Records

KIND = "sagemaker-tags"
MOST = 50  # tags of one resource: AddTags in the API reference
RESERVED = "aws:"  # prefix of keys: Tag in the API reference


class Tags:
    """The tags of each resource, by its ARN; only a resource that tags were made for has any."""

    def __init__(self, records: Records) -> None:
        """Keep them as documents in the records."""
        self.records = records

    def create(self, arn: str, tags: list[Json]) -> None:
        """Record a new resource, with its tags.

        The words on a key that is given twice were observed: aws/sagemaker-python-sdk#3608 (2023).
        """
        keys = [tag["Key"] for tag in tags]
        if len(set(keys)) < len(keys):
            raise ServiceError("ValidationException", "Duplicate tag key")
        self.records.put(KIND, arn, _merge({}, tags))

    def of(self, arn: str) -> list[Json]:
        """Return the tags of a resource, as the API gives them."""
        return _as_list(self.records.get(KIND, arn) or {})

    def forget(self, arn: str) -> None:
        """Forget a resource that is gone."""
        self.records.delete(KIND, arn)


def operations(records: Records, declared: Iterable[str]) -> dict[str, Operation]:
    """Return the operations on tags; declared: the names of the service's other operations."""
    creators = find_creators(declared)

    def get(params: Json) -> Json:
        arn = params["ResourceArn"]
        document = records.get(KIND, arn)
        if document is None:
            raise ServiceError(
                "ValidationException",
                f"Requested resource not found: {arn} has no tags here; only what one of these"
                f" operations has made can have some: {', '.join(creators)}",
            )
        return document

    def add(params: Json) -> Json:
        merged = _merge(get(params), params["Tags"])
        records.put(KIND, params["ResourceArn"], merged)
        return {"Tags": _as_list(merged)}

    def list_all(params: Json) -> Json:
        return listing.page(_as_list(get(params)), {"MaxResults": MOST} | params, "Tags")

    def delete(params: Json) -> Json:
        left = {key: value for key, value in get(params).items() if key not in params["TagKeys"]}
        records.put(KIND, params["ResourceArn"], left)
        return {}

    return {"AddTags": add, "ListTags": list_all, "DeleteTags": delete}


def find_creators(declared: Iterable[str]) -> list[str]:
    """Return those of the operations that make a resource which can have tags."""
    model = service_model("sagemaker")
    creators = [name for name in declared if name.startswith("Create")]
    return [
        name
        for name in creators
        if "Tags" in getattr(model.operation_model(name).input_shape, "members", {})
    ]


def _merge(known: Json, tags: list[Json]) -> Json:
    if reserved := [tag["Key"] for tag in tags if tag["Key"].lower().startswith(RESERVED)]:
        raise ServiceError(
            "ValidationException",
            f"Tag keys cannot begin with {RESERVED}, which is for Amazon: {', '.join(reserved)}",
        )
    merged = known | {tag["Key"]: tag["Value"] for tag in tags}
    if len(merged) > MOST:
        raise ServiceError("ValidationException", f"a resource can have {MOST} tags at most")
    return merged


def _as_list(tags: Json) -> list[Json]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
