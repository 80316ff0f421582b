"""Tags of jobs, notebook instances, models, endpoints, and model packages and their groups."""

from __future__ import annotations

from typing import Any

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.sagemaker import listing
from local_cloud.store.records import Records

Json = dict[str, Any]
KIND = "sagemaker-tags"
MOST = 50  # tags of one resource: AddTags in the API reference


class Tags:
    """The tags of each resource, by its ARN; only a resource that tags were made for has any."""

    def __init__(self, records: Records) -> None:
        """Keep them as documents in the records."""
        self.records = records

    def make(self, arn: str, tags: list[Json]) -> None:
        """Record a new resource, with its tags."""
        self.records.put(KIND, arn, _merge({}, tags))

    def forget(self, arn: str) -> None:
        """Forget a resource that is gone."""
        self.records.delete(KIND, arn)

    def add(self, params: Json) -> Json:
        """AddTags."""
        merged = _merge(self._get(params), params["Tags"])
        self.records.put(KIND, params["ResourceArn"], merged)
        return {"Tags": _as_list(merged)}

    def list(self, params: Json) -> Json:
        """ListTags."""
        return listing.page(_as_list(self._get(params)), {"MaxResults": MOST} | params, "Tags")

    def delete(self, params: Json) -> Json:
        """DeleteTags."""
        known = self._get(params)
        left = {key: value for key, value in known.items() if key not in params["TagKeys"]}
        self.records.put(KIND, params["ResourceArn"], left)
        return {}

    def _get(self, params: Json) -> Json:
        found = self.records.get(KIND, params["ResourceArn"])
        if found is None:
            raise ServiceError(
                "ValidationException",
                f"Requested resource not found: {params['ResourceArn']} has no tags here; training"
                " jobs, tuning jobs, notebook instances, models, endpoints, configurations, model"
                " package groups and packages of no group have",
            )
        return found


def _merge(known: Json, tags: list[Json]) -> Json:
    merged = known | {tag["Key"]: tag["Value"] for tag in tags}
    if len(merged) > MOST:
        raise ServiceError("ValidationException", f"a resource can have {MOST} tags at most")
    return merged


def _as_list(tags: Json) -> list[Json]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
