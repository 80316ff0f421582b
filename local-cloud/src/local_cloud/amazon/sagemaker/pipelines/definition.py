"""A pipeline's definition, read and checked: its parameters, its steps and what they wait for.

Source: the JSON schema "SageMaker Pipeline Definition" of version 2020-12-01, and what the SDK's
two generations send (read 2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.sagemaker.pipelines import conditions as pipeline_conditions
from local_cloud.amazon.sagemaker.pipelines import values as pipeline_values
from local_cloud.amazon.sagemaker.pipelines.values import ValueProblem
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.http import bodies
from local_cloud.json_types import Json

VERSION = "2020-12-01"
KINDS = ("Training", "Tuning", "Processing", "Condition", "Model", "RegisterModel", "Fail")
TYPES: dict[str, tuple[type, ...]] = {
    "String": (str,),
    "Integer": (int,),
    "Float": (int, float),
    "Boolean": (bool,),
}
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# The fields of a step, and of what it holds, with what each has to be.
FIELDS: dict[str, type] = {
    "Name": str,
    "Type": str,
    "Arguments": dict,
    "DependsOn": list,
    "DisplayName": str,
    "Description": str,
    "CacheConfig": dict,
    "PropertyFiles": list,
    "RetryPolicies": list,
}
FILE_FIELDS: dict[str, type] = {"PropertyFileName": str, "OutputName": str, "FilePath": str}
RETRY_FIELDS: dict[str, type] = {"ExceptionType": list, "MaxAttempts": int}
PARAMETER_FIELDS: dict[str, type] = {"Name": str, "Type": str, "EnumValues": list}
DURATION = re.compile(
    r"P?(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?",
    re.IGNORECASE,
)
SECONDS = (365 * 86400, 30 * 86400, 7 * 86400, 86400, 3600, 60, 1)  # of the groups of DURATION
MOST_STEPS = 1000  # of one pipeline: each becomes a job on this machine
INTERNAL = "SageMaker.JOB_INTERNAL_ERROR"  # the one exception of retry policies that occurs here


@dataclass(frozen=True)
class Step:
    """One step, as the definition has it."""

    name: str
    kind: str
    arguments: Json
    waits_for: frozenset[str]  # names of the steps that have to end first
    branch: (
        tuple[str, bool] | None
    )  # the condition step that it is in, and the outcome that it is for
    display: Json  # StepDisplayName and StepDescription, where they are given
    keeps: float | None  # seconds for which its result may be used again; None: not at all
    files: Mapping[str, Json]  # PropertyFiles by name
    attempts: int  # how often it is tried, at most, when its job is lost


@dataclass(frozen=True)
class Definition:
    """A definition whose parts fit together."""

    parameters: Mapping[str, Json]  # by name, as they are declared
    steps: Mapping[str, Step]  # by name, those of branches too


def parse(text: str) -> Definition:
    """Read a definition; raises ServiceError for what the service, or this one, does not take."""
    try:
        document = bodies.parse(text.encode())
    except ValueError as problem:
        raise invalid(f"PipelineDefinition is not JSON: {problem}") from None
    if not isinstance(document, dict) or document.get("Version") != VERSION:
        raise invalid(f'PipelineDefinition: "Version" must be "{VERSION}"')
    if document.get("MlflowConfig"):
        raise not_implemented("MlflowConfig of a pipeline")
    parameters = _parameters(_list(document, "Parameters", PARAMETER_FIELDS))
    steps: dict[str, Step] = {}
    for step in _steps(_list(document, "Steps", FIELDS), None):
        if step.name in steps:
            raise invalid(f"Steps: two are called {step.name}; each needs its own name")
        steps[step.name] = step
    if not steps:
        raise invalid("Steps: a pipeline needs a step")
    definition = Definition(parameters, steps)
    for step in steps.values():
        _check_references(step, definition)
    try:
        TopologicalSorter({name: step.waits_for for name, step in steps.items()}).prepare()
    except CycleError as problem:
        raise invalid(f"Steps wait for each other: {' -> '.join(problem.args[1])}") from None
    return definition


def require_few(definition: Definition) -> None:
    """Refuse a new pipeline with more steps than one may have here."""
    count = len(definition.steps)
    if count > MOST_STEPS:
        raise invalid(
            f"Steps: {count} steps, and a pipeline here has at most {MOST_STEPS}: split it"
        )


def values(definition: Definition, given: list[Json]) -> dict[str, Any]:
    """Return the parameters' values: those that are given, as texts, else the defaults."""
    texts = {each["Name"]: each["Value"] for each in given}
    if unknown := sorted(texts.keys() - definition.parameters.keys()):
        raise invalid(f"Invalid parameter(s): the pipeline has no {', '.join(unknown)}")
    values_by_name = {}
    for name, declared in definition.parameters.items():
        if name in texts:
            values_by_name[name] = _read(name, declared["Type"], texts[name])
        elif "DefaultValue" in declared:
            values_by_name[name] = declared["DefaultValue"]
        else:
            raise invalid(f"Parameter {name} has no default: give it a value")
        _check_value(declared, values_by_name[name])
    return values_by_name


def _list(document: Json, field: str, fields: Mapping[str, type]) -> list[Any]:
    """Return a list of objects, whose fields are of these types; what is not given is empty."""
    entries = document.get(field) or []
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise invalid(f"{field} must be a list of objects")
    for each in entries:
        for name, kind in fields.items():
            if each.get(name) is not None and not isinstance(each[name], kind):
                raise invalid(f"{field}: {name} must be a {kind.__name__}, not {each[name]!r}")
    return entries


# Fields of a pipeline and its definition that are kept, and have no effect here.
IGNORED_IN = "a pipeline and its definition"  # as the table of calls names it
IGNORED = {
    "RoleArn": "of the pipeline; everything here may read and write everything here",
    "PipelineExperimentConfig": "nothing is tracked",
    "Metadata": "it is kept with the definition",
    "Steps[].RetryPolicies": "a job that was cut off when the server ended is sent again, at"
    " once, MaxAttempts of SageMaker.JOB_INTERNAL_ERROR times at most, or else twice",
}


# ---- parameters ---------------------------------------------------------------------------------
def _parameters(declared: list[Json]) -> dict[str, Json]:
    parameters: dict[str, Json] = {}
    for each in declared:
        name, kind = each.get("Name"), each.get("Type")
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", name):
            raise invalid(f"Parameters: {name!r} cannot name a parameter")
        if name in parameters:
            raise invalid(f"Parameters: two are called {name}; each needs its own name")
        if kind not in TYPES:
            raise invalid(f"Parameter {name}: {kind!r} is not one of {', '.join(TYPES)}")
        if "DefaultValue" in each:
            _check_value(each, each["DefaultValue"])
        parameters[name] = each
    return parameters


def _check_value(declared: Json, value: Any) -> None:
    name, kind, choices = declared["Name"], declared["Type"], declared.get("EnumValues")
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "Boolean"):
        raise invalid(f"Parameter {name}: {value!r} is not of type {kind}")
    if choices and value not in choices:
        raise invalid(f"Parameter {name}: {value!r} is not one of {', '.join(map(str, choices))}")


def _read(name: str, kind: str, text: str) -> Any:
    """Return the value that a text stands for: a request has texts only."""
    try:
        if kind == "Boolean":
            return {"true": True, "false": False}[text.lower()]
        if kind == "Float" and not text.strip().lower().lstrip("+-").startswith(("inf", "nan")):
            return float(text)
        return {"String": str, "Integer": int}[kind](text)
    except (KeyError, ValueError):
        raise invalid(f"Parameter {name}: {text!r} is not of type {kind}") from None


# ---- steps --------------------------------------------------------------------------------------
def _steps(declared: list[Json], branch: tuple[str, bool] | None) -> Iterator[Step]:
    """Yield the steps, each condition followed by those of its branches."""
    for each in declared:
        step = _step(each, branch)
        yield step
        if step.kind == "Condition":
            for field, outcome in (("IfSteps", True), ("ElseSteps", False)):
                yield from _steps(_list(each["Arguments"], field, FIELDS), (step.name, outcome))


def _step(each: Json, branch: tuple[str, bool] | None) -> Step:
    name, kind, arguments = each.get("Name"), each.get("Type"), each.get("Arguments")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise invalid(f"Steps: {name!r} cannot name a step: use up to 64 letters, digits, _ and -")
    if not isinstance(kind, str) or not isinstance(arguments, dict):
        raise invalid(f"Step {name}: a step needs a Type and Arguments")
    if kind not in KINDS:
        raise not_implemented(f"step {name}: pipeline steps of type {kind}")
    if unknown := sorted(each.keys() - FIELDS.keys()):
        raise not_implemented(f"step {name}: {', '.join(unknown)}")
    if kind == "Condition":
        arguments = {"Conditions": arguments.get("Conditions")}
        _check_conditions(name, arguments["Conditions"])
    display = {
        "StepDisplayName": each.get("DisplayName"),
        "StepDescription": each.get("Description"),
    }
    return Step(
        name=name,
        kind=kind,
        arguments=arguments,
        waits_for=frozenset(_waits_for(each, arguments, branch)),
        branch=branch,
        display={field: text for field, text in display.items() if text},
        keeps=_keeps(name, each.get("CacheConfig") or {}),
        files={
            str(file.get("PropertyFileName")): file
            for file in _list(each, "PropertyFiles", FILE_FIELDS)
        },
        attempts=_attempts(_list(each, "RetryPolicies", RETRY_FIELDS)),
    )


def _waits_for(each: Json, arguments: Json, branch: tuple[str, bool] | None) -> Iterator[str]:
    for other in each.get("DependsOn") or []:
        if not isinstance(other, str):
            raise not_implemented(f"step {each['Name']}: DependsOn with a status of the other step")
        yield other
    try:
        yield from pipeline_values.steps_of(arguments)
    except ValueProblem as problem:
        raise invalid(f"Step {each['Name']}: {problem}") from None
    if branch:
        yield branch[0]


def _keeps(name: str, cache: Json) -> float | None:
    if not cache.get("Enabled"):
        return None
    text = cache.get("ExpireAfter")
    if text is None:
        return float("inf")
    match = DURATION.fullmatch(text) if isinstance(text, str) else None
    if not match or not any(match.groups()):
        raise invalid(f"Step {name}: CacheConfig.ExpireAfter {text!r} is not a duration like P30D")
    return float(
        sum(int(number or 0) * each for number, each in zip(match.groups(), SECONDS, strict=True))
    )


def _attempts(policies: list[Json]) -> int:
    """Return how often a step is tried whose job the end of the server cut off.

    That is three times by default.
    """
    most = [
        each.get("MaxAttempts")
        for each in policies
        if INTERNAL in (each.get("ExceptionType") or [])
    ]
    return 1 + max((one for one in most if isinstance(one, int)), default=2)


def _check_conditions(name: str, conditions: Any) -> None:
    try:
        pipeline_conditions.check(conditions)
    except ValueProblem as problem:
        raise invalid(f"Step {name}: {problem}") from None


def _check_references(step: Step, definition: Definition) -> None:
    """Require in the definition all that a step names."""
    for other in sorted(step.waits_for):
        if other not in definition.steps:
            raise invalid(f"Step {step.name}: there is no step {other} in this pipeline")
    for reference in pipeline_values.references(step.arguments):
        group, _, rest = reference.partition(".")
        if group == "Parameters" and rest not in definition.parameters:
            raise invalid(f"Step {step.name}: {reference} is not among the pipeline's Parameters")
        if group == "Execution" and rest not in pipeline_values.EXECUTION:
            raise invalid(f"Step {step.name}: {reference} is not an execution variable")
