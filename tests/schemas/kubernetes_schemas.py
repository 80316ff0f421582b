"""Schemas that Kubernetes and Kubeflow publish, cut down to what the tests need; see README.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

HERE = Path(__file__).parent
KUBERNETES, TRAINER = HERE / "kubernetes.json", HERE / "trainjob.json"
KINDS = {"Job": "io.k8s.api.batch.v1.Job", "Service": "io.k8s.api.core.v1.Service"}


def mistakes(document: Any) -> list[str]:
    """What the published schema of its kind has against a document; [] if nothing."""
    if document["kind"] == "TrainJob":
        schema = json.loads(TRAINER.read_text())
    else:
        schema = json.loads(KUBERNETES.read_text())
        schema["$ref"] = f"#/components/schemas/{KINDS[document['kind']]}"
    errors = Draft202012Validator(schema).iter_errors(document)
    return [f"{error.json_path}: {error.message}" for error in errors]


def closed(schema: Any) -> Any:
    """A schema without its prose, which refuses fields that it does not name, as a server does."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        name: {each: closed(field) for each, field in value.items()}
        if name == "properties"
        else closed(value)
        for name, value in schema.items()
        if name not in ("description", "default", "format") and not name.startswith("x-")
    }
    if "properties" in kept:
        kept.setdefault("additionalProperties", False)
    return {"type": ["integer", "string"]} if "x-kubernetes-int-or-string" in schema else kept


def needed(schemas: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """These schemas, and those that they refer to."""
    schemas_needed: dict[str, Any] = {}
    while names:
        if (name := names.pop()) not in schemas_needed:
            schemas_needed[name] = closed(schemas[name])
            text = json.dumps(schemas_needed[name])
            names += [each.split('"')[0] for each in text.split("#/components/schemas/")[1:]]
    return schemas_needed


def main(swagger: str, crd: str) -> None:
    """Write both files from Kubeflow Trainer's swagger.json and its CRD of TrainJob."""
    schemas = json.loads(Path(swagger).read_text())["components"]["schemas"]
    document = {"components": {"schemas": needed(schemas, list(KINDS.values()))}}
    KUBERNETES.write_text(json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n")
    (version,) = yaml.safe_load(Path(crd).read_text())["spec"]["versions"]
    schema = closed(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    TRAINER.write_text(json.dumps(schema, sort_keys=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
