"""The model registry: models, each with versions that aliases point at."""

from __future__ import annotations

import re
import time

from local_cloud.projects import project_number
from local_cloud.store.records import Records
from local_cloud.vertex import resources
from local_cloud.vertex.errors import ApiError, not_found
from local_cloud.vertex.filters import compile_filter
from local_cloud.vertex.schema import Json, Model, UploadModelRequest, checked, need, new_id
from local_cloud.vertex.schema import timestamp as rfc3339

NAME = re.compile(r"projects/([^/]+)/(locations/[^/]+/models/[^/@]+)(@[^/]*)?")
# The forms of both: types/model_service.py, model_id; types/model.py, version_aliases.
ID = re.compile(r"[a-z_][a-z0-9_-]{0,62}")
ALIAS = re.compile(r"[a-z][a-zA-Z0-9-]{0,126}[a-z0-9]")
DEFAULT = "default"  # the alias of the version that a name without a version means


class Models:
    """Documents `…/models/ID@VERSION`, one for each version."""

    def __init__(self, records: Records) -> None:
        """Keep the models in `records`."""
        self.records = records

    def upload(self, parent: str, body: Json) -> Json:
        """models:upload, answered with an operation that has ended."""
        request = checked(UploadModelRequest, body | {"parent": parent})
        need(request.get("model"), "model: required")
        model = self.add(
            parent, request["model"], request.get("parentModel", ""), request.get("modelId", "")
        )
        response = {
            "@type": resources.TYPES + "UploadModelResponse",
            "model": model["name"],
            "modelVersionId": model["versionId"],
        }
        return resources.done(self.records, model["name"], response, "UploadModelOperationMetadata")

    def add(self, parent: str, model: Json, parent_model: str = "", model_id: str = "") -> Json:
        """Add a new model, or a new version of `parent_model`, and return it.

        The version's aliases are taken from versions that had them; the first version is the
        default one in any case.
        """
        with self.records.transaction():
            name = self.check(parent, model, parent_model, model_id)
            versions = self.versions(name)
            aliases = model.get("versionAliases", []) + ([] if versions else [DEFAULT])
            for other in versions:
                kept = [alias for alias in other["versionAliases"] if alias not in aliases]
                self._put(other | {"versionAliases": kept})
            now = rfc3339(time.time())
            new = model | {
                "name": name,
                "versionId": str(1 + max((int(v["versionId"]) for v in versions), default=0)),
                "versionAliases": list(dict.fromkeys(aliases)),
                "createTime": versions[0]["createTime"] if versions else now,
                "updateTime": now,
                "versionCreateTime": now,
                "versionUpdateTime": now,
                "etag": new_id(),
            }
            self._put(new)
        return new

    def check(self, parent: str, model: Json, parent_model: str, model_id: str) -> str:
        """The name that `add` would give the model, or the error that it would raise."""
        need(model.get("displayName"), "model.displayName: required")
        for alias in model.get("versionAliases", []):
            need(ALIAS.fullmatch(alias), f"model.versionAliases: {alias!r} is not valid")
        if parent_model:
            name = _base(parent_model)
            if not self.versions(name):
                raise not_found(name)
            return name
        need(not model_id or ID.fullmatch(model_id), f"modelId: {model_id!r} is not valid")
        name = f"{parent}/models/{model_id or new_id()}"
        if self.versions(name):
            raise ApiError("ALREADY_EXISTS", f"The Model {name} already exists.")
        return name

    def _put(self, model: Json) -> None:
        self.records.put("vertex", f"{model['name']}@{model['versionId']}", model)

    def versions(self, name: str) -> list[Json]:
        """Every version of a model, the oldest first; none where there is no such model."""
        found = [document for _, document in self.records.list("vertex", f"{name}@")]
        return sorted(found, key=lambda model: int(model["versionId"]))

    def get(self, name: str) -> Json:
        """A model by `…/models/ID`, `…/models/ID@VERSION` or `…/models/ID@ALIAS`."""
        base, _, version = name.partition("@")
        for model in self.versions(base):
            if version == model["versionId"] or (version or DEFAULT) in model["versionAliases"]:
                return model
        raise not_found(name)

    def list_models(self, collection: str, query: dict[str, str]) -> Json:
        """The default version of each model."""
        asked = query.get("filter", "")
        compile_filter(asked)  # by itself: what is refused is what was sent
        both = (
            f"({asked}) version_aliases:{DEFAULT}"
            if asked.strip()
            else f"version_aliases:{DEFAULT}"
        )
        models, token = resources.page(self.records, collection, {**query, "filter": both}, dict)
        return {"models": models, "nextPageToken": token}

    def list_versions(self, name: str) -> Json:
        """models:listVersions."""
        self.get(name)
        return {"models": self.versions(name.split("@")[0])}

    def delete(self, name: str) -> Json:
        """Delete a model with all its versions; answered with an operation that has ended."""
        self.get(name)
        with self.records.transaction():
            for model in self.versions(name):
                self.records.delete("vertex", f"{name}@{model['versionId']}")
            return resources.deleted(self.records, name)

    def delete_version(self, name: str) -> Json:
        """models:deleteVersion: any version but the default one."""
        model = self.get(name)
        if DEFAULT in model["versionAliases"]:
            raise ApiError(
                "FAILED_PRECONDITION",
                f"The model version {name} is the default one; make another the default first.",
            )
        return resources.deleted(self.records, f"{model['name']}@{model['versionId']}")


def _base(name: str) -> str:
    """The name of a model that a client sent, without a version, its project by number."""
    parts = NAME.fullmatch(name)
    if parts is None:
        raise ApiError("INVALID_ARGUMENT", f"parentModel: {name!r} is not the name of a model")
    return f"projects/{project_number(parts[1])}/{parts[2]}"


__all__ = ["Model", "Models"]
