"""The model registry: models, each with versions that aliases point at."""

from __future__ import annotations

import re
import time
from pathlib import Path

from local_cloud.google.filters import compile_filter
from local_cloud.google.projects import project_number
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources import documents
from local_cloud.google.vertex.resources.errors import not_found
from local_cloud.google.vertex.resources.request import GS_URI
from local_cloud.google.vertex.resources.schema import (
    MergeVersionAliasesRequest,
    Model,
    UploadModelRequest,
    new_id,
    parse_message,
    require,
)
from local_cloud.google.vertex.resources.schema import timestamp as rfc3339
from local_cloud.json_types import Json
from local_cloud.store import trees
from local_cloud.store.errors import NoSuchBucket
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records

NAME = re.compile(r"projects/([^/]+)/(locations/[^/]+/models/[^/@]+)(@[^/]*)?")
# The forms of both: types/model_service.py, model_id; types/model.py, version_aliases.
ID = re.compile(r"[a-z_][a-z0-9_-]{0,62}")
ALIAS = re.compile(r"[a-z][a-zA-Z0-9-]{0,126}[a-z0-9]")
DEFAULT = "default"  # the alias of the version that a name without a version means
# What models:patch may change of a model, and of one version: types/model_service.py.
OF_MODEL = ("displayName", "description", "labels")
OF_VERSION = ("versionDescription", "labels")
INSIDE = ("modelLabels", "automl")  # fields of a document that nobody is shown
DEPLOYED = "vertex-deployed"  # records of deployed models: endpoints/endpoints.py


class ModelRegistry:
    """Documents `…/models/ID@VERSION`, one for each version.

    `modelLabels` of a document are the model's own labels, the same in all its versions; whoever
    asks is shown them merged with the version's. `automl` says what has trained it, and where its
    files are.
    """

    def __init__(self, records: Records, objects: Objects) -> None:
        """Keep the models in `records`; objects: where their artifacts are looked for."""
        self.records = records
        self.objects = objects

    def upload(self, parent: str, body: Json) -> Json:
        """models:upload, answered with an operation that has ended."""
        request = parse_message(UploadModelRequest, body | {"parent": parent})
        require(request.get("model"), "model: required")
        self._check_artifacts(request["model"].get("artifactUri", ""))
        model = self.add(
            parent,
            request["model"],
            parent_model=request.get("parentModel", ""),
            model_id=request.get("modelId", ""),
        )
        response = {
            "@type": documents.TYPES + "UploadModelResponse",
            "model": model["name"],
            "modelVersionId": model["versionId"],
        }
        return documents.record_operation(
            self.records, model["name"], response, metadata="UploadModelOperationMetadata"
        )

    def _check_artifacts(self, uri: str) -> None:
        """Require that something is there, which the service would copy."""
        if not uri:
            return
        require(GS_URI.match(uri), f"model.artifactUri: {uri!r} does not begin with gs://BUCKET")
        bucket, _, folder = uri.removeprefix("gs://").partition("/")
        prefix = f"{folder.rstrip('/')}/" if folder else ""
        try:
            is_there = any(True for _ in self.objects.names(bucket, prefix))
        except NoSuchBucket:
            is_there = False
        if not is_there:
            raise ApiError(
                "FAILED_PRECONDITION",
                f"There are no files under the folder {uri}; name the folder that a job wrote"
                " its model to (AIP_MODEL_DIR).",
            )

    def add(self, parent: str, model: Json, *, parent_model: str = "", model_id: str = "") -> Json:
        """Add a new model, or a new version of `parent_model`, and return it.

        The version's aliases are taken from versions that had them; the first version is the
        default one in any case.
        """
        with self.records.transaction():
            name = self.check(parent, model, parent_model=parent_model, model_id=model_id)
            versions = self.versions(name)
            aliases = model.get("versionAliases", []) + ([] if versions else [DEFAULT])
            for other in versions:
                kept = [alias for alias in other["versionAliases"] if alias not in aliases]
                self._put(other | {"versionAliases": kept})
            now = rfc3339(time.time())
            new: Json = {"supportedDeploymentResourcesTypes": ["DEDICATED_RESOURCES"], **model}
            new |= {
                "name": name,
                "versionId": str(1 + max((int(v["versionId"]) for v in versions), default=0)),
                "versionAliases": list(dict.fromkeys(aliases)),
                "createTime": versions[0]["createTime"] if versions else now,
                "updateTime": now,
                "versionCreateTime": now,
                "versionUpdateTime": now,
                "etag": new_id(),
            }
            if versions:  # what every version has of its model
                new["modelLabels"] = versions[0].get("modelLabels", {})
            self._put(new)
        return new

    def check(self, parent: str, model: Json, *, parent_model: str, model_id: str) -> str:
        """Return the name that `add` would give the model, or the error that it would raise."""
        require(model.get("displayName"), "model.displayName: required")
        for alias in model.get("versionAliases", []):
            require(ALIAS.fullmatch(alias), f"model.versionAliases: {alias!r} is not valid")
        if parent_model:
            name = _base(parent_model)
            if not self.versions(name):
                raise not_found(name)
            return name
        require(not model_id or ID.fullmatch(model_id), f"modelId: {model_id!r} is not valid")
        name = f"{parent}/models/{model_id or new_id()}"
        if self.versions(name):
            raise ApiError("ALREADY_EXISTS", f"The Model {name} already exists.")
        return name

    def _put(self, model: Json) -> None:
        self.records.put("vertex", f"{model['name']}@{model['versionId']}", model)

    def versions(self, name: str) -> list[Json]:
        """Return every version of a model, the oldest first; none where there is no such model."""
        documents = [document for _, document in self.records.list("vertex", f"{name}@")]
        return sorted(documents, key=lambda model: int(model["versionId"]))

    def find(self, name: str) -> Json:
        """Return the document of `…/models/ID`, `…/models/ID@VERSION` or `…/models/ID@ALIAS`."""
        base, _, version = name.partition("@")
        for model in self.versions(base):
            if version == model["versionId"] or (version or DEFAULT) in model["versionAliases"]:
                return model
        raise not_found(name)

    def get(self, name: str) -> Json:
        """models:get; asked for a version, its answer's name has the version's number."""
        model = self.find(name)
        return _add_version(model) if "@" in name else _render(model)

    def list_models(self, collection: str, query: dict[str, str]) -> Json:
        """Return the default version of each model."""
        requested = query.get("filter", "")
        compile_filter(requested)  # by itself: what is refused is what was sent
        both = (
            f"({requested}) version_aliases:{DEFAULT}"
            if requested.strip()
            else f"version_aliases:{DEFAULT}"
        )
        models, token = documents.page(
            self.records, collection, query={**query, "filter": both}, render=_render
        )
        return {"models": models, "nextPageToken": token}

    def list_versions(self, name: str, query: dict[str, str]) -> Json:
        """models:listVersions, the oldest first unless the request says otherwise."""
        self.find(name)
        versions = [_add_version(model) for model in self.versions(name.split("@")[0])]
        models, token = documents.paginate(versions, query)
        return {"models": models, "nextPageToken": token}

    def merge_aliases(self, name: str, body: Json) -> Json:
        """models:mergeVersionAliases: add aliases to a version, or with a `-` take them away.

        An alias that another version had moves; the default one can only move.
        """
        changes = parse_message(MergeVersionAliasesRequest, body).get("versionAliases", [])
        require(changes, "versionAliases: required")
        for alias in changes:
            require(
                ALIAS.fullmatch(alias.removeprefix("-")), f"versionAliases: {alias!r} is not valid"
            )
        removed = {alias[1:] for alias in changes if alias.startswith("-")}
        added = [alias for alias in changes if not alias.startswith("-") and alias not in removed]
        removed -= set(changes)  # one that is added, too, stays as it is
        with self.records.transaction():
            model = self.find(name)
            if DEFAULT in removed and DEFAULT in model["versionAliases"]:
                raise ApiError(
                    "FAILED_PRECONDITION",
                    "The alias default cannot be removed: add it to another version instead.",
                )
            for other in self.versions(model["name"]):
                gone = removed if other["versionId"] == model["versionId"] else set(added)
                kept = [alias for alias in other["versionAliases"] if alias not in gone]
                if other["versionId"] == model["versionId"]:
                    kept = list(dict.fromkeys(kept + added))
                if kept != other["versionAliases"]:
                    self._change(other, {"versionAliases": kept})
        return self.get(name)

    def patch(self, name: str, body: Json, mask: str) -> Json:
        """models:patch of a model, or with `@VERSION` in its name of one version."""
        fields = [_camel_case(field) for field in mask.split(",") if field]
        require(fields, "updateMask: required")
        is_version = "@" in name and not name.endswith("@-")
        allowed = OF_VERSION if is_version else OF_MODEL
        for field in fields:
            if field not in allowed:
                raise ApiError(
                    "FAILED_PRECONDITION",
                    f"updateMask: {field} is no field that an update of"
                    f" {'a model version' if is_version else 'a model'} may change; these are"
                    f" {', '.join(allowed)}.",
                )
        model = parse_message(Model, body, is_patch=True)
        changes = {field: model.get(field, {} if field == "labels" else "") for field in fields}
        require(changes.get("displayName", "set"), "model.displayName: required")
        with self.records.transaction():
            if is_version:
                self._change(self.find(name), changes)
            else:
                self._patch_model(name.removesuffix("@-"), changes)
        return self.get(name.removesuffix("@-"))

    def _patch_model(self, name: str, changes: Json) -> None:
        self.find(name)
        if "labels" in changes:
            changes["modelLabels"] = changes.pop("labels")
        for version in self.versions(name):
            self._put(version | changes | {"updateTime": rfc3339(time.time()), "etag": new_id()})

    def _change(self, version: Json, changes: Json) -> None:
        """Write a version with these changes."""
        changed = {"versionUpdateTime": rfc3339(time.time()), "etag": new_id()}
        self._put(version | changes | changed)

    def delete(self, name: str) -> None:
        """Delete a model with all its versions."""
        self.find(name)
        self._require_undeployed(name)
        with self.records.transaction():
            versions = self.versions(name)
            for model in versions:
                self.records.delete("vertex", f"{name}@{model['versionId']}")
        for model in versions:
            _remove_files(model)

    def _require_undeployed(self, name: str, version: str = "") -> None:
        for _, facts in self.records.list(DEPLOYED):
            model = facts["model"]
            if model["name"] == name and version in ("", model["versionId"]):
                raise ApiError(
                    "FAILED_PRECONDITION",
                    f"The model {name} is deployed to {facts['endpoint']}: undeploy it first.",
                )

    def delete_version(self, name: str) -> None:
        """models:deleteVersion: any version but the default one."""
        model = self.find(name)
        if DEFAULT in model["versionAliases"]:
            raise ApiError(
                "FAILED_PRECONDITION",
                f"The model version {name} is the default one; make another the default first.",
            )
        self._require_undeployed(model["name"], model["versionId"])
        self.records.delete("vertex", f"{model['name']}@{model['versionId']}")
        _remove_files(model)


def _remove_files(model: Json) -> None:
    """Remove what AutoML has trained: nothing else uses it once the version is gone."""
    if "automl" in model:
        trees.remove(Path(model["automl"]["folder"]))


def _render(model: Json) -> Json:
    """Return a version's document as the service tells it."""
    labels = model.get("modelLabels", {}) | model.get("labels", {})
    rendered = {field: value for field, value in model.items() if field not in INSIDE}
    return rendered | ({"labels": labels} if labels else {})


def _add_version(model: Json) -> Json:
    """Return the version's document with the version in its name."""
    return _render(model) | {"name": f"{model['name']}@{model['versionId']}"}


def _camel_case(field: str) -> str:
    first, *others = field.split("_")
    return first + "".join(word.capitalize() for word in others)


def _base(name: str) -> str:
    """Return the name of a model that a client sent, without a version, its project by number."""
    parts = NAME.fullmatch(name)
    if parts is None:
        raise ApiError("INVALID_ARGUMENT", f"parentModel: {name!r} is not the name of a model")
    return f"projects/{project_number(parts[1])}/{parts[2]}"
