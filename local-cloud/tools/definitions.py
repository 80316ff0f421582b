"""Write local_cloud/google/definitions/*.json from the discovery documents that Google publishes.

`python -m tools.definitions WHEEL`, where WHEEL is one of google-api-python-client, which carries
them: `pip download --no-deps google-api-python-client`.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "src" / "local_cloud" / "google" / "definitions"
DOCUMENTS = "googleapiclient/discovery_cache/documents"
# Of each API, the collections with methods that the local cloud has.
COLLECTIONS = {
    "bigquery.v2": ("datasets", "jobs", "models", "projects", "tabledata", "tables"),
    "storage.v1": ("buckets", "managedFolders", "objects", "projects"),
    "logging.v2": ("entries",),
}
# What a check of a request needs of a method, and of a value.
OF_METHOD = ("id", "httpMethod", "path", "parameters", "request", "mediaUpload")
OF_VALUE = (
    "$ref",
    "type",
    "format",
    "enum",
    "items",
    "properties",
    "additionalProperties",
    "location",
    "repeated",
    "required",
    "minimum",
    "maximum",
)


def main(wheel: str) -> None:
    """Write a file for each API."""
    with zipfile.ZipFile(wheel) as archive:
        for name, collections in COLLECTIONS.items():
            document = json.loads(archive.read(f"{DOCUMENTS}/{name}.json"))
            text = json.dumps(definition(document, collections), separators=(",", ":"))
            (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def definition(document: Any, collections: tuple[str, ...]) -> Any:
    """Return the methods of these collections, and the schemas to which they refer."""
    methods = [
        {name: _drop_prose(name, method[name]) for name in OF_METHOD if name in method}
        for collection in collections
        for method in _methods(document["resources"][collection])
    ]
    roots = [method["request"]["$ref"] for method in methods if "request" in method]
    return {
        "servicePath": document["servicePath"],
        "batchPath": document["batchPath"],
        "revision": document["revision"],
        "parameters": _drop_prose("parameters", document["parameters"]),
        "methods": methods,
        "missing": {  # the number of methods of each collection that the local cloud lacks
            name: len(_methods(collection))
            for name, collection in document["resources"].items()
            if name not in collections
        },
        "schemas": _with_references(document["schemas"], roots),
    }


def _methods(collection: Any) -> list[Any]:
    """Return the methods of a collection, and of the collections in it."""
    inner = collection.get("resources", {}).values()
    own = list(collection.get("methods", {}).values())
    return own + [method for each in inner for method in _methods(each)]


def _drop_prose(name: str, value: Any) -> Any:
    """Return a member without prose; the names in `properties` and `parameters` are not ours."""
    if name in ("properties", "parameters"):
        return {each: _value(one) for each, one in value.items()}
    if name in ("items", "additionalProperties", "request"):
        return _value(value)
    return value


def _value(schema: Any) -> Any:
    return {name: _drop_prose(name, schema[name]) for name in OF_VALUE if name in schema}


def _with_references(schemas: Any, names: list[str]) -> dict[str, Any]:
    """Return these schemas, and those to which they refer."""
    needed: dict[str, Any] = {}
    while names:
        name = names.pop()
        if name not in needed:
            needed[name] = _value(schemas[name])
            names += _references(needed[name])
    return {name: needed[name] for name in sorted(needed)}


def _references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"]] if "$ref" in schema else []
        return own + [name for each in schema.values() for name in _references(each)]
    return []


if __name__ == "__main__":
    main(*sys.argv[1:])
