"""References in a pipeline's definition, and the values that they stand for in an execution."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from local_cloud.errors import LocalCloudError
from local_cloud.json_types import Json

FUNCTIONS = ("Get", "Std:Join", "Std:JsonGet")
EXECUTION = {
    "StartDateTime",
    "CurrentDateTime",
    "PipelineName",
    "PipelineArn",
    "PipelineExecutionId",
    "PipelineExecutionArn",
    "TrainingJobName",
    "ProcessingJobName",
}
PART = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
# By these fields the items of a list are known: Outputs['train'], FinalMetricDataList['loss'].
NAMES = ("OutputName", "InputName", "MetricName", "ChannelName", "Name")


class ValueProblem(LocalCloudError):
    """A reference that stands for nothing; the message says which and why."""


@dataclass(frozen=True)
class Scope:
    """What references of one step are looked up in."""

    parameters: Mapping[str, Any]
    execution: Mapping[str, str]  # execution variables
    properties: Callable[[str], Json]  # those of a step that has succeeded
    file: Callable[[str, str], str]  # of a step and a property file's name: the file's text
    read: Callable[[str], str]  # the text at an S3 URI


def references(value: Any) -> Iterator[str]:
    """Yield all that is named by a Get anywhere in the value.

    Such names are `Parameters.Epochs` and `Steps.train.X`.
    """
    if isinstance(value, dict):
        name = _function(value)
        if name == "Get":
            if not isinstance(value["Get"], str):
                raise ValueProblem(f"Get takes a text, not {value['Get']!r}")
            yield value["Get"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def steps_of(value: Any) -> Iterator[str]:
    """Yield the names of the steps that the value refers to."""
    for reference in references(value):
        group, _, rest = reference.partition(".")
        if group not in ("Parameters", "Execution", "Steps"):
            raise ValueProblem(f"{reference}: not implemented in the local cloud")
        if group == "Steps":
            yield re.split(r"[.\[]", rest, maxsplit=1)[0]


def resolve(value: Any, scope: Scope) -> Any:
    """Return the value with what its references stand for; ValueProblem where that is nothing."""
    if isinstance(value, list):
        return [resolve(each, scope) for each in value]
    if not isinstance(value, dict):
        return value
    match _function(value):
        case "Get":
            return _get(value["Get"], scope)
        case "Std:Join":
            return _join(value["Std:Join"], scope)
        case "Std:JsonGet":
            return _json_get(value["Std:JsonGet"], scope)
    return {name: resolve(each, scope) for name, each in value.items()}


def as_text(value: Any) -> str:
    """Return the value as a part of a text: as it is, or as JSON writes it."""
    return value if isinstance(value, str) else json.dumps(value)


def _function(value: Json) -> str:
    """Return the function that an object is a call of; "" for any other object."""
    if len(value) != 1:
        return ""
    (name,) = value
    if name in FUNCTIONS:
        return str(name)
    if name.startswith("Std:"):
        raise ValueProblem(f"{name}: not implemented in the local cloud")
    return ""


def _get(reference: str, scope: Scope) -> Any:
    group, _, rest = reference.partition(".")
    if group == "Parameters":
        return scope.parameters[rest]
    if group == "Execution":
        if rest not in scope.execution:
            raise ValueProblem(f"{reference} is not known in this step")
        return scope.execution[rest]
    step = re.split(r"[.\[]", rest, maxsplit=1)[0]
    return lookup(scope.properties(step), rest.removeprefix(step), reference)


def _join(call: Any, scope: Scope) -> str:
    if not isinstance(call, dict) or not isinstance(call.get("Values"), list):
        raise ValueProblem('Std:Join takes {"On": text, "Values": list}')
    parts = [resolve(each, scope) for each in call["Values"]]
    return str(call.get("On", "")).join(map(as_text, parts))


def _json_get(call: Any, scope: Scope) -> Any:
    if not isinstance(call, dict) or not isinstance(call.get("Path"), str):
        raise ValueProblem('Std:JsonGet takes {"PropertyFile": {"Get": …}, "Path": text}')
    if "S3Uri" in call:
        where = str(resolve(call["S3Uri"], scope))
        text = scope.read(where)
    else:
        named = call.get("PropertyFile")
        where = str(named.get("Get") if isinstance(named, dict) else named)
        match = re.fullmatch(r"Steps\.([^.]+)\.PropertyFiles\.(.+)", where)
        if not match:
            raise ValueProblem(f"Std:JsonGet: {where} names no property file")
        text = scope.file(match[1], match[2])
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueProblem(f"Std:JsonGet: {where} is not JSON") from None
    path = call["Path"].removeprefix("$")
    path = path if path.startswith(("[", ".")) else f".{path}"
    return lookup(document, path, f"{call['Path']} in {where}")


def lookup(value: Any, path: str, what: str) -> Any:
    """Return what is at a path such as `.Outputs['train'].S3Output`; `what`: for the refusal."""
    place = 0
    while place < len(path):
        part = PART.match(path, place)
        if not part:
            raise ValueProblem(f"{what}: {path[place:]!r} is not a path")
        value = _inside(value, part, what)
        place = part.end()
    return value


def _inside(value: Any, part: re.Match[str], what: str) -> Any:
    member, number, *quoted = part.groups()
    key = member or next((each for each in quoted if each is not None), "")
    if number is not None:
        if isinstance(value, list) and int(number) < len(value):
            return value[int(number)]
    elif isinstance(value, dict) and key in value:
        return value[key]
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, dict) and any(each.get(name) == key for name in NAMES):
                return each
    raise ValueProblem(f"{what}: there is no {part[0].lstrip('.')}")
