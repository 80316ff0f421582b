"""What goes into a task of a pipeline and what comes out of a pipeline within one.

Source: TaskInputsSpec and DagOutputsSpec in kfp's pipeline_spec.proto.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from local_cloud.errors import LocalCloudError
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.pipelines import placeholders
from local_cloud.google.vertex.pipelines.spec import (
    MOST_ITEMS,
    as_type,
    inputs_of,
    outputs_of,
    parameter_sources,
)
from local_cloud.google.vertex.pipelines.task import Task
from local_cloud.json_types import Json

SELECTOR = re.compile(r"parseJson\(string_value\)((?:\[(?:\"[^\"]*\"|\d+)\])+)")
STEP = re.compile(r"\[(\"[^\"]*\"|\d+)\]")
Siblings = Mapping[str, Task]  # the tasks beside one, by name


class Unresolved(LocalCloudError):
    """A task cannot have its inputs; the message says which and why."""


def parameters(
    task: Json,
    component: Json,
    scope: Task,
    *,
    beside: Siblings,
    status: Json,
    own: Mapping[str, str],
) -> Json:
    """Return a task's input parameters.

    scope: the task around it. status: for a task that is told how others ended, by their names.
    own: what a constant may say about the task and its pipeline (placeholders.OWN).
    """
    given, sources = {}, task.get("inputs", {}).get("parameters", {})
    for name, source in sources.items():
        value = _parameter(source, scope, beside, status=status)
        if value is not None:
            given[name] = _select(value, source, name)
    given |= {
        name: placeholders.constant(value, given, own)
        for name, value in given.items()
        if "runtimeValue" in sources[name]
    }
    declared = inputs_of(component, "parameters")
    for name, definition in declared.items():
        if name not in given and "defaultValue" in definition:
            given[name] = definition["defaultValue"]
        if name not in given and "dag" not in component and not definition.get("isOptional"):
            raise Unresolved(f"the input {name} has no value")
    return {
        name: _convert(value, declared[name], name, passes_on="dag" in component)
        if name in declared
        else value
        for name, value in given.items()
    }


def _convert(value: Any, definition: Json, name: str, *, passes_on: bool) -> Any:
    """Return the value as its type has it.

    passes_on: for a pipeline within one, for which kfp writes the type of a loop's items wrongly.
    """
    if definition.get("parameterType") == "STRING" and not passes_on:
        return placeholders.text_of(value)
    try:
        return as_type(value, definition, f"the input {name}")
    except ApiError as problem:
        if passes_on:
            return value
        raise Unresolved(str(problem)) from None


def render_for_cache(given: Json, component: Json) -> Json:
    """Return the parameters as a condition compares them: what is declared as text is text.

    kfp declares the items of a list without a type so, and writes `== '2'` for `item == 2`.
    """
    declared = inputs_of(component, "parameters")
    return {
        name: placeholders.text_of(value)
        if declared.get(name, {}).get("parameterType") == "STRING"
        else value
        for name, value in given.items()
    }


def _parameter(source: Json, scope: Task, beside: Siblings, *, status: Json) -> Any:
    if "runtimeValue" in source:
        return source["runtimeValue"].get("constant")
    if "componentInputParameter" in source:
        return scope.parameters.get(source["componentInputParameter"])
    if "taskFinalStatus" in source:
        return status[source["taskFinalStatus"]["producerTask"]]
    wanted = source["taskOutputParameter"]
    return beside[wanted["producerTask"]].output_parameters.get(wanted["outputParameterKey"])


def _select(value: Any, source: Json, name: str) -> Any:
    """Return the part of a value that `parseJson(string_value)["a"]` chooses."""
    if not (selector := source.get("parameterExpressionSelector")):
        return value
    match = SELECTOR.fullmatch(selector)
    try:
        if not match:
            raise ValueError(selector)
        value = json.loads(value) if isinstance(value, str) else value
        for step in STEP.findall(match[1]):
            value = value[json.loads(step)]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise Unresolved(f"the input {name}: {selector} does not fit {value!r}") from None
    return value


def artifacts(
    task: Json, component: Json, scope: Task, *, beside: Siblings
) -> dict[str, list[str]]:
    """Return the resource names of a task's input artifacts, by input."""
    names_by_input: dict[str, list[str]] = {}
    for name, source in task.get("inputs", {}).get("artifacts", {}).items():
        if "componentInputArtifact" in source:
            names_by_input[name] = scope.artifacts.get(source["componentInputArtifact"], [])
        else:
            wanted = source["taskOutputArtifact"]
            producer = beside[wanted["producerTask"]]
            names_by_input[name] = producer.output_artifacts.get(wanted["outputArtifactKey"], [])
    for name, definition in inputs_of(component, "artifacts").items():
        if not (names_by_input.get(name) or "dag" in component or definition.get("isOptional")):
            raise Unresolved(f"the input {name} has no artifact")
    return {name: names for name, names in names_by_input.items() if names}


def items(task: Json, given: Json) -> list[Any]:
    """Return what a loop goes over."""
    source = task["parameterIterator"]["items"]
    looped = source["raw"] if "raw" in source else given.get(source["inputParameter"])
    try:
        looped = json.loads(looped) if isinstance(looped, str) else looped
    except (ValueError, RecursionError):
        looped = None
    if not isinstance(looped, list) or len(looped) > MOST_ITEMS:
        raise Unresolved(f"the items of the loop are not a list of at most {MOST_ITEMS}")
    return looped


def outputs(component: Json, inside: Siblings) -> tuple[Json, dict[str, list[str]]]:
    """Return the parameters and the artifacts that a pipeline within one passes on."""
    declared = component["dag"].get("outputs", {})
    values: Json = {}
    for name, source in declared.get("parameters", {}).items():
        for one in parameter_sources(source):
            made = inside[one["producerSubtask"]].output_parameters
            if one["outputParameterKey"] in made:
                values[name] = made[one["outputParameterKey"]]
                break
    artifacts: dict[str, list[str]] = {}
    for name, source in declared.get("artifacts", {}).items():
        for one in source["artifactSelectors"]:
            names = inside[one["producerSubtask"]].output_artifacts.get(one["outputArtifactKey"])
            if names:
                artifacts[name] = names
                break
    return values, artifacts


def collect(component: Json, rounds: list[Task]) -> tuple[Json, dict[str, list[str]]]:
    """Return the outputs of a loop: lists of what its rounds have passed on."""
    values = {
        name: [one.output_parameters.get(name) for one in rounds]
        for name in outputs_of(component, "parameters")
    }
    collected = {
        name: [each for one in rounds for each in one.output_artifacts.get(name, [])]
        for name in outputs_of(component, "artifacts")
    }
    return values, collected
