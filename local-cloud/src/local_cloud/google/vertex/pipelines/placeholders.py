"""The placeholders in the command of a pipeline's task: `{{$.inputs.parameters['rows']}}`.

Sources: kfp.dsl.placeholders, which writes them, and kfp.local.placeholder_utils.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from local_cloud.google.rest import ApiError
from local_cloud.json_types import Json

FOUND = re.compile(r"\{\{\$([^{}]*)\}\}")
NAME = r"\[''?(?P<name>[^'\]]+)''?\]"
PARTS = {
    "input": re.compile(rf"\.inputs\.parameters{NAME}"),
    "output": re.compile(rf"\.outputs\.parameters{NAME}\.output_file"),
    "artifact": re.compile(
        rf"\.(?P<side>inputs|outputs)\.artifacts{NAME}\.(?P<field>uri|path|metadata)"
        r"(?:\[''?(?P<key>[^'\]]+)''?\])?"
    ),
}
OUTPUT_FILE = (".outputs.output_file", ".outputMetadataUri")
# What a task is told about itself and its pipeline.
OWN = (
    "pipeline_job_name",
    "pipeline_job_uuid",
    "pipeline_job_resource_name",
    "pipeline_job_create_time_utc",
    "pipeline_task_name",
    "pipeline_task_uuid",
    "pipeline_root",
)


def check(words: Sequence[str], where: str) -> None:
    """Refuse words with a placeholder that nothing here fills in."""
    for word in words:
        for inside in FOUND.findall(word):
            known = inside in ("", ".json_escape[1]", *OUTPUT_FILE)
            known = known or inside.removeprefix(".") in OWN
            known = known or any(part.fullmatch(inside) for part in PARTS.values())
            if not known:
                what = f"{where}: the placeholder {{{{${inside}}}}}"
                raise ApiError("UNIMPLEMENTED", f"not implemented in the local cloud: {what}")


def check_constant(value: Any, where: str) -> None:
    """Refuse a constant with a placeholder about its pipeline that nothing here fills in."""
    for text in _texts(value):
        for inside in FOUND.findall(text):
            if inside.startswith(".pipeline_") and inside[1:] not in OWN:
                check([f"{{{{${inside}}}}}"], where)


def constant(value: Any, parameters: Json, own: Mapping[str, str]) -> Any:
    """Return a constant of a pipeline with its placeholders filled in, also in lists and objects.

    parameters: the task's inputs. own: what OWN lists. Other text in double braces stays.
    """
    if isinstance(value, list):
        return [constant(one, parameters, own) for one in value]
    if isinstance(value, dict):
        return {
            constant(key, parameters, own): constant(one, parameters, own)
            for key, one in value.items()
        }
    if not isinstance(value, str):
        return value

    def replace(match: re.Match[str]) -> str:
        named = PARTS["input"].fullmatch(match[1])
        if named and named["name"] in parameters:
            return text_of(parameters[named["name"]])
        return own.get(match[1][1:], match[0])

    return FOUND.sub(replace, value)


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from (key, *_texts(one))


def resolve(words: Sequence[str], given: Json, own: Mapping[str, str]) -> list[str]:
    """Return a command with every placeholder filled in.

    given: the executor input of the task. own: what OWN lists.
    """
    command: list[str] = []
    for word in words:
        command += [fill(one, given, own) for one in _structures(word, given)]
    return command


def fill(text: str, given: Json, own: Mapping[str, str]) -> str:
    """Return the text with its placeholders filled in."""
    return FOUND.sub(lambda match: _value(match[1], given, own), text)


def _value(inside: str, given: Json, own: Mapping[str, str]) -> str:
    if not inside:
        return json.dumps(given)
    if inside == ".json_escape[1]":
        return json.dumps(json.dumps(given))[1:-1]
    if inside in OUTPUT_FILE:
        return str(given["outputs"]["outputFile"])
    if inside[1:] in own:
        return own[inside[1:]]
    if match := PARTS["input"].fullmatch(inside):
        return text_of(given["inputs"]["parameterValues"].get(match["name"]))
    if match := PARTS["output"].fullmatch(inside):
        return str(given["outputs"]["parameters"].get(match["name"], {}).get("outputFile", ""))
    if match := PARTS["artifact"].fullmatch(inside):
        listed = given[match["side"]]["artifacts"].get(match["name"], {}).get("artifacts", [])
        return _field(listed[0], match) if listed else ""
    return "{{$" + inside + "}}"  # check() has refused these


def _field(artifact: Json, match: re.Match[str]) -> str:
    if match["field"] == "metadata":
        metadata = artifact.get("metadata", {})
        return text_of(metadata.get(match["key"]) if match["key"] else metadata)
    return path_of(artifact["uri"]) if match["field"] == "path" else str(artifact["uri"])


def path_of(uri: str) -> str:
    """Return where a job finds what is at a gs:// URI."""
    return f"/gcs/{uri.removeprefix('gs://')}" if uri.startswith("gs://") else uri


def text_of(value: Any) -> str:
    """Return a parameter's value as text, such as a command's word.

    A whole number has no fraction, as in `PbValueToText` of kfp's backend: JSON has one kind alone.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value)


def _structures(word: str, given: Json) -> list[str]:
    """Return the words of `{"IfPresent": …}` and `{"Concat": …}`; any other word is its own."""
    if not word.startswith(('{"IfPresent":', '{"Concat":')):
        return [word]
    try:
        return _words(json.loads(word), given)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return [word]


def _words(part: Any, given: Json) -> list[str]:
    if isinstance(part, str):
        return [part]
    if isinstance(part, list):
        return [word for one in part for word in _words(one, given)]
    if "Concat" in part:
        return ["".join(word for one in part["Concat"] for word in _words(one, given))]
    wanted = part["IfPresent"]
    inputs = given["inputs"]
    there = {**inputs["artifacts"], **inputs["parameterValues"]}.get(wanted["InputName"])
    chosen = wanted["Then"] if there is not None else wanted.get("Else")
    return [] if chosen is None else _words(chosen, given)
