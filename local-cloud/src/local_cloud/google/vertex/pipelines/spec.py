"""A compiled pipeline: its components, tasks and parameters, checked before anything runs.

Source: kfp's pipeline_spec.proto (package kfp-pipeline-spec), of which the request holds the JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.pipelines import conditions, placeholders
from local_cloud.google.vertex.resources.schema import require
from local_cloud.http import bodies
from local_cloud.json_types import Json

DEEPEST = 20  # pipelines in pipelines
MOST_ITEMS = 1000  # of a loop
# In one pipeline job, with those of the pipelines in it: each becomes a job on this machine.
MOST_TASKS = 5000
# The image of Google's ready-made components: their program calls other services by itself.
READY_MADE = "gcr.io/ml-pipeline/google-cloud-pipeline-components"
TYPES: Mapping[str, tuple[type, ...]] = {
    "NUMBER_INTEGER": (int, float),
    "NUMBER_DOUBLE": (int, float),
    "STRING": (str,),
    "BOOLEAN": (bool,),
    "LIST": (list,),
    "STRUCT": (dict,),
    "TASK_FINAL_STATUS": (dict,),
}
# Where an input may come from, and the field that says which output of a task is meant.
SOURCES = {
    "parameters": {
        "runtimeValue": "",
        "componentInputParameter": "name",
        "taskOutputParameter": "outputParameterKey",
        "taskFinalStatus": "",
    },
    "artifacts": {"componentInputArtifact": "name", "taskOutputArtifact": "outputArtifactKey"},
}
ONCE_ALL_ENDED = "ALL_UPSTREAM_TASKS_COMPLETED"
STRATEGIES = ("TRIGGER_STRATEGY_UNSPECIFIED", "ALL_UPSTREAM_TASKS_SUCCEEDED", ONCE_ALL_ENDED)


@dataclass(frozen=True)
class PipelineSpec:
    """The JSON of a compiled pipeline, and how to find things in it."""

    json: Json

    @property
    def name(self) -> str:
        """Return the pipeline's name."""
        return str(self.json["pipelineInfo"]["name"])

    @property
    def root(self) -> Json:
        """Return the component that is the pipeline itself."""
        root: Json = self.json["root"]
        return root

    def component(self, name: str) -> Json:
        """Return the component of this name; "": the pipeline itself."""
        component: Json = self.json["components"][name] if name else self.root
        return component

    def executor(self, component: Json) -> Json:
        """Return what a component without tasks of its own runs."""
        executor: Json = self.json["deploymentSpec"]["executors"][component["executorLabel"]]
        return executor


def inputs_of(component: Json, kind: str) -> Json:
    """Return the declared inputs of a component; kind: parameters or artifacts."""
    inputs: Json = component.get("inputDefinitions", {}).get(kind, {})
    return inputs


def outputs_of(component: Json, kind: str) -> Json:
    """Return the declared outputs of a component; kind: parameters or artifacts."""
    outputs: Json = component.get("outputDefinitions", {}).get(kind, {})
    return outputs


def upstream(task: Json) -> set[str]:
    """Return the names of the tasks that a task waits for."""
    names = set(task.get("dependentTasks", []))
    for kind in ("parameters", "artifacts"):
        for source in task.get("inputs", {}).get(kind, {}).values():
            for way in ("taskOutputParameter", "taskOutputArtifact", "taskFinalStatus"):
                if way in source:
                    names.add(source[way]["producerTask"])
    return names


# ---- parameters -----------------------------------------------------------------------------
def parameters(component: Json, given: Json) -> Json:
    """Return the pipeline's parameters, with its defaults, or refuse those that do not fit."""
    declared = inputs_of(component, "parameters")
    for name in given:
        require(name in declared, f"parameterValues: the pipeline has no parameter {name!r}")
    values = {}
    for name, definition in declared.items():
        value = given.get(name, definition.get("defaultValue"))
        if value is None:
            require(definition.get("isOptional"), f"parameterValues.{name}: required")
        else:
            values[name] = as_type(value, definition, f"parameterValues.{name}")
    return values


def as_type(value: Any, definition: Json, where: str) -> Any:
    """Return a value as its parameter's type has it: JSON knows no whole numbers."""
    kind = definition.get("parameterType", "")
    right = isinstance(value, TYPES.get(kind, (object,)))
    right = right and (kind == "BOOLEAN" or not isinstance(value, bool) or kind not in TYPES)
    if kind == "NUMBER_INTEGER" and right:
        right = float(value).is_integer()
    require(right, f"{where}: {_short(value)} is not a {kind}")
    if kind == "NUMBER_INTEGER":
        return int(value)
    return float(value) if kind == "NUMBER_DOUBLE" else value


def parse(text: str, definition: Json, where: str) -> Any:
    """Return the value that a task has written into an output parameter's file."""
    if definition.get("parameterType") == "STRING":
        return text
    try:
        return as_type(bodies.parse(text.encode()), definition, where)
    except ValueError:
        kind = definition.get("parameterType")
        raise ApiError("INVALID_ARGUMENT", f"{where}: {_short(text)} is not a {kind}") from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 100 else f"{text[:100]}…"


# ---- checks ---------------------------------------------------------------------------------
def check(given: Any) -> PipelineSpec:
    """Return a pipeline that can be run here; what cannot is refused by name."""
    require(given, "pipeline_job.pipelineSpec: required; compile the pipeline with kfp")
    _check_version(given)
    spec = PipelineSpec(given)
    try:
        require(spec.name, "pipelineSpec.pipelineInfo.name: required")
        require_few(_Check(spec).graph("root", spec.root, ()).tasks)
    except (LookupError, TypeError, AttributeError, ValueError) as problem:
        raise ApiError(
            "INVALID_ARGUMENT", f"pipelineSpec: not a compiled pipeline ({problem!r})"
        ) from None
    except conditions.InvalidCondition as problem:
        raise ApiError("UNIMPLEMENTED", f"not implemented in the local cloud: {problem}") from None
    return spec


def require_few(tasks: int) -> None:
    """Refuse a pipeline that makes more tasks than a pipeline job may have."""
    what = f"pipelineSpec: with the pipelines in it the pipeline makes {tasks} tasks"
    require(tasks <= MOST_TASKS, f"{what}, and a job here has at most {MOST_TASKS}: split it")


def _check_version(given: Json) -> None:
    """Refuse what kfp 1.8 has compiled: its components need that version in their image, too."""
    version = str(given.get("schemaVersion", ""))
    if not version.startswith("2.1"):
        compiler = given.get("sdkVersion") or "another compiler than kfp 2"
        raise _not_implemented(
            f"pipelines of schema version {version!r}, which {compiler} has compiled; compile this"
            " one anew: pip install 'kfp>=2', import dsl and compiler from kfp in place of kfp.v2,"
            " give components by keyword, and call compiler.Compiler().compile(pipeline_func=…,"
            " package_path='pipeline.yaml')"
        )


def _not_implemented(what: str) -> ApiError:
    return ApiError("UNIMPLEMENTED", f"not implemented in the local cloud: {what}")


class _Size(NamedTuple):
    """What a component makes when it runs once; each round of a loop makes it again."""

    tasks: int = 0
    levels: int = 0  # pipelines in each other, itself too


class _Check:
    """Looks once at each component that is used, however often and from where it is."""

    def __init__(self, spec: PipelineSpec) -> None:
        self.spec = spec
        self.sizes: dict[str, _Size] = {}  # of components that are good

    def graph(self, where: str, component: Json, above: tuple[str, ...]) -> _Size:
        self.definitions(component)
        tasks = component["dag"]["tasks"]
        require(tasks, f"{where}: a pipeline needs a task")
        self.require_flat(where, len(above))
        sizes = [
            self.task(f"{where}.{name}", task, tasks, above=above) for name, task in tasks.items()
        ]
        try:
            TopologicalSorter({name: upstream(task) for name, task in tasks.items()}).prepare()
        except CycleError as problem:
            raise ApiError(
                "INVALID_ARGUMENT", f"{where}: tasks wait for each other: {problem.args[1]}"
            ) from None
        for producer in _producers(component["dag"].get("outputs", {})):
            require(producer in tasks, f"{where}.outputs: there is no task {producer!r}")
        return _Size(sum(1 + size.tasks for size in sizes), 1 + max(size.levels for size in sizes))

    def require_flat(self, where: str, levels: int) -> None:
        require(levels <= DEEPEST, f"{where}: more than {DEEPEST} pipelines in each other")

    def task(self, where: str, task: Json, tasks: Json, *, above: tuple[str, ...]) -> _Size:
        self.inputs(where, task)
        for name in upstream(task):
            require(name in tasks, f"{where}: waits for {name!r}, and there is no such task")
        trigger = task.get("triggerPolicy", {})
        if condition := trigger.get("condition"):
            conditions.compile_condition(condition)
        strategy = trigger.get("strategy", STRATEGIES[0])
        if strategy not in STRATEGIES:
            raise _not_implemented(f"{where}: the trigger strategy {strategy}")
        if "artifactIterator" in task:
            raise _not_implemented(f"{where}: a loop over artifacts")
        name = task["componentRef"]["name"]
        require(name not in above, f"{where}: the component {name} contains itself")
        component = self.spec.json.get("components", {}).get(name)
        require(component, f"{where}: there is no component {name!r}")
        if name not in self.sizes:
            self.sizes[name] = self.component(where, component, (*above, name))
        self.require_flat(where, len(above) + self.sizes[name].levels)
        return self.sizes[name]

    def component(self, where: str, component: Json, above: tuple[str, ...]) -> _Size:
        if "dag" in component:
            return self.graph(where, component, above)
        self.executor(where, component)
        return _Size()

    def definitions(self, component: Json) -> None:
        """Require that the declared inputs and outputs are of types."""
        for find in (inputs_of, outputs_of):
            for definition in find(component, "parameters").values():
                _text(definition.get("parameterType", ""))
            for definition in find(component, "artifacts").values():
                _text(definition["artifactType"].get("schemaTitle", ""))

    def inputs(self, where: str, task: Json) -> None:
        """Require of each input one source, of a kind that pipeline_inputs knows."""
        for kind, ways in SOURCES.items():
            for name, source in task.get("inputs", {}).get(kind, {}).items():
                sources = [way for way in source if way != "parameterExpressionSelector"]
                if len(sources) != 1 or sources[0] not in ways:
                    raise _not_implemented(f"{where}: the input {name} from {sources or 'nowhere'}")
                if sources[0].startswith("taskOutput"):
                    _text(source[sources[0]]["producerTask"], source[sources[0]][ways[sources[0]]])
                elif ways[sources[0]]:
                    _text(source[sources[0]])
                elif sources[0] == "runtimeValue":
                    constant = source["runtimeValue"].get("constant")
                    placeholders.check_constant(constant, f"{where}: the input {name}")
        if loop := task.get("parameterIterator"):
            items = loop["items"]
            _text(loop["itemInput"], items["raw"] if "raw" in items else items["inputParameter"])
        for policy, field in (
            ("iteratorPolicy", "parallelismLimit"),
            ("retryPolicy", "maxRetryCount"),
        ):
            int(task.get(policy, {}).get(field, 0))

    def executor(self, where: str, component: Json) -> None:
        self.definitions(component)
        label = component["executorLabel"]
        executors = self.spec.json.get("deploymentSpec", {}).get("executors", {})
        require(label in executors, f"{where}: there is no executor {label!r}")
        (kind,) = executors[label] or ["none"]
        if kind not in ("container", "importer"):
            raise _not_implemented(f"{where}: an executor of the kind {kind}")
        if kind == "container":
            container = executors[label]["container"]
            require(container.get("image"), f"{where}: {label} names no image")
            if str(container["image"]).startswith(READY_MADE):
                raise _not_implemented(
                    f"{where}: components of google-cloud-pipeline-components; write a component"
                    " that calls the SDK instead"
                )
            if "lifecycle" in container:
                raise _not_implemented(f"{where}: container.lifecycle")
            words = [*container.get("command", []), *container.get("args", [])]
            for variable in container.get("env", []):
                _text(variable["name"])
                words.append(variable.get("value", ""))
            _text(container["image"], *words)
            placeholders.check(words, where)
            wanted = container.get("resources", {}).get("accelerator", {})
            int(wanted.get("resourceCount") or wanted.get("count") or 0)
        else:
            (key,) = outputs_of(component, "artifacts")
            source = executors[label]["importer"]["artifactUri"]
            _text(key, source["constant"] if "constant" in source else source["runtimeParameter"])
            metadata = executors[label]["importer"].get("metadata")
            placeholders.check_constant(metadata, f"{where}: the metadata")


def _text(*values: Any) -> None:
    """Raise TypeError for what is not a text."""
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is not a text")


def _producers(outputs: Json) -> Iterator[str]:
    """Yield the tasks from which a pipeline takes its own outputs."""
    for source in outputs.get("artifacts", {}).values():
        yield from (one["producerSubtask"] for one in source["artifactSelectors"])
    for source in outputs.get("parameters", {}).values():
        for one in parameter_sources(source):
            yield one["producerSubtask"]


def parameter_sources(source: Json) -> list[Json]:
    """Return the outputs of tasks of which the first that there is becomes the pipeline's."""
    if "valueFromOneof" in source:
        selectors: list[Json] = source["valueFromOneof"]["parameterSelectors"]
        return selectors
    return [source["valueFromParameter"]]
