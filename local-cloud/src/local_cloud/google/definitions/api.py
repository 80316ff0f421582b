"""An API's methods, and the check of a request to one of them."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable
from pathlib import Path

from local_cloud.google.definitions.values import Values, WrongValue, whole
from local_cloud.json_types import Json

FOLDER = Path(__file__).parent


class Method:
    """What the API says about the requests of one method."""

    def __init__(self, api: Json, method: Json) -> None:
        """Read a method. api: the document, with the parameters of all methods and the schemas."""
        self.id: str = method["id"]
        self.parameters: dict[str, Json] = {**api["parameters"], **method.get("parameters", {})}
        self.schema: Json | None = method.get("request")
        self.schemas: dict[str, Json] = api["schemas"]
        # Cloud Storage is older than protobuf's JSON: it takes numbers only.
        is_storage = self.id.startswith("storage.")
        is_patch = method["httpMethod"] == "PATCH"
        self._values = Values(self.schemas, keep_nulls=is_patch, texts=not is_storage)

    def check_query(self, parameters: Iterable[tuple[str, str]]) -> None:
        """Raise WrongValue for a parameter of the wrong type; an empty one is not given."""
        for name, value in parameters:
            if value and (schema := self.parameters.get(name)):
                _check_parameter(schema, value, name)

    def body(self, sent: Json | None) -> Json:
        """Return the body in its usual form; {} where the method has none. Raises WrongValue."""
        if self.schema is None or sent is None:
            return {}
        checked: Json = self._values.check(self.schema, sent, "")
        return checked


def _check_parameter(schema: Json, value: str, name: str) -> None:
    kind = schema.get("format", "")
    if schema["type"] == "integer" or kind in ("int64", "uint64"):
        whole(kind, value, name)
    elif schema["type"] == "boolean" and value.lower() not in ("true", "false", "1", "0"):
        raise WrongValue(name, "bool", value)


class Api:
    """The definition of an API."""

    def __init__(self, name: str) -> None:
        """name: of its file, bigquery.v2 say."""
        document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        self.methods: dict[tuple[str, str], Method] = {}
        for each in document["methods"]:
            method, verb = Method(document, each), each["httpMethod"]
            self.methods[verb, _shape(f"/{document['servicePath']}{each['path']}")] = method
            for protocol in each.get("mediaUpload", {}).get("protocols", {}).values():
                self.methods[verb, _shape(protocol["path"])] = method

    def method(self, verb: str, path: str) -> Method:
        """Return the method of a route, /storage/v1/b/{bucket} say; KeyError if there is none."""
        return self.methods[verb, _shape(path)]


@functools.cache
def api(name: str) -> Api:
    """Return the definition in the file of this name, read once."""
    return Api(name)


def _shape(path: str) -> str:
    """Return the path without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", path)
