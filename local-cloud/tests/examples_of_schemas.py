"""Values that fit a schema, at random: of a discovery document, of a proto, of botocore's model."""

from __future__ import annotations

import random
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from local_cloud.google.vertex.resources.schema import find_required

DEEPEST = 6
OPTIONAL = 0.35  # of the fields that may be left out, how many are there
PLACES = {"gs": "gs://declared/x", "s3": "s3://declared/x"}
ROLE = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest"
# What a text holds, by the end of its field's name in small letters: so that some requests come as
# far as the code behind the checks.
TEXTS = {
    "query": "SELECT x FROM d.t",
    "datasetid": "d",
    "tableid": "t",
    "projectid": "declared",
    "machinetype": "n1-standard-4",
    "imageuri": IMAGE,
    "image": IMAGE,
    "outputuriprefix": PLACES["gs"],
    "gcsoutputdirectory": PLACES["gs"],
    "uri": PLACES["gs"],
    "uris": PLACES["gs"],
    "sourceuris": PLACES["gs"],
    "rolearn": ROLE,
    "instancetype": "ml.m5.large",
    "s3uri": PLACES["s3"],
    "s3outputpath": PLACES["s3"],
    "modeldataurl": PLACES["s3"],
    "timestamp": "2026-11-01T00:00:00Z",
    "duration": "1s",
    "command": "true",
    "instancesformat": "jsonl",
    "predictionsformat": "jsonl",
    "localpath": "/opt/ml/processing/x",
    "bucket": "declared",
    "key": "x",
    "regex": "a=([0-9.]+)",
    "filter": "a=b",
    "orderby": "name",
    "type": "STRING",
}


class Examples:
    """Makes them; the same ones for the same seed."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def text(self, name: str) -> str:
        """A text for a field of this name."""
        return TEXTS.get(name.replace("_", "").lower(), "a")

    def is_there(self, *, needed: bool, depth: int) -> bool:
        return depth < DEEPEST and (needed or self.chance.random() < OPTIONAL)

    # ---- discovery documents --------------------------------------------------------------------
    def of_definition(self, schema: Any, schemas: Any, name: str = "", depth: int = 0) -> Any:
        while "$ref" in schema:
            schema = schemas[schema["$ref"]]
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        match schema["type"]:
            case "object":
                others = schema.get("additionalProperties")
                fields = schema.get("properties", {"a": others} if others else {})
                return {
                    each: self.of_definition(inner, schemas, each, depth + 1)
                    for each, inner in fields.items()
                    if self.is_there(needed=each in NEEDED, depth=depth)
                }
            case "array":
                return [self.of_definition(schema["items"], schemas, name, depth + 1)]
            case "integer":
                return 1
            case "number":
                return 0.5
            case "boolean":
                return self.chance.random() < 0.5
            case "any":
                return self.chance.choice(["a", 1, {"x": 1}])
        return "1" if "int" in schema.get("format", "") else self.text(name)

    # ---- protos ---------------------------------------------------------------------------------
    def of_proto(self, kind: Any, depth: int = 0) -> Any:
        message: dict[str, Any] = {}
        for field in kind.pb().DESCRIPTOR.fields:
            if self.is_there(needed=field.name in find_required(kind), depth=depth):
                message[field.json_name] = self._field(kind, field, depth)
        return message

    def _field(self, kind: Any, field: Any, depth: int) -> Any:
        inner = kind.meta.fields[field.name].message
        if field.message_type and field.message_type.GetOptions().map_entry:
            of_map = field.message_type.fields_by_name["value"]
            return {"a": self._one(inner, of_map, depth)}
        one = self._one(inner, field, depth, is_kind=True)
        return [one] if field.is_repeated else one

    def _one(self, inner: Any, field: Any, depth: int, *, is_kind: bool = False) -> Any:
        if field.message_type:
            if is_kind and hasattr(inner, "pb"):
                return self.of_proto(inner, depth + 1)
            return WELL_KNOWN.get(field.message_type.full_name, {})
        if field.enum_type:
            return self.chance.choice([value.name for value in field.enum_type.values])
        if field.type == field.TYPE_STRING:
            return self.text(field.json_name)
        if field.type == field.TYPE_BYTES:
            return "YQ=="
        if field.type == field.TYPE_BOOL:
            return True
        return 0.5 if field.type in (field.TYPE_DOUBLE, field.TYPE_FLOAT) else 1

    # ---- botocore's models ----------------------------------------------------------------------
    def of_shape(self, shape: Shape, name: str = "", depth: int = 0) -> Any:
        if choices := shape.metadata.get("enum"):
            return self.chance.choice(choices)
        if isinstance(shape, StructureShape):
            return {
                each: self.of_shape(inner, each, depth + 1)
                for each, inner in shape.members.items()
                if self.is_there(needed=each in shape.required_members, depth=depth)
            }
        if isinstance(shape, ListShape):
            return [self.of_shape(shape.member, name, depth + 1)]
        if isinstance(shape, MapShape):
            return {"a": self.of_shape(shape.value, name, depth + 1)}
        if shape.type_name in ("integer", "long", "float", "double", "timestamp"):
            return max(1, shape.metadata.get("min", 1))
        if shape.type_name == "boolean":
            return True
        text = self.text(name)
        return text + "a" * max(0, shape.metadata.get("min", 0) - len(text))


NEEDED = {"query", "configuration", "datasetReference", "tableReference", "rows", "json"}
WELL_KNOWN: dict[str, Any] = {
    "google.protobuf.Timestamp": TEXTS["timestamp"],
    "google.protobuf.Duration": "1s",
    "google.protobuf.FieldMask": "displayName",
    "google.protobuf.Value": {"a": 1},
    "google.protobuf.Struct": {"a": 1},
    "google.protobuf.Int64Value": "1",
}
