"""Definitions with one value that does not belong there: refused, or run, and never a fault."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.sagemaker.pipelines import definition as pipeline_definition
from local_cloud.json_types import Json
from tests.amazon.sagemaker.pipelines.pipeline_definitions import (
    compared,
    condition,
    fail,
    get,
    join,
    parameter,
    text,
)
from tests.amazon.sagemaker.pipelines.test_pipeline_definitions import CONDITIONS
from tests.amazon.sagemaker.pipelines.test_pipelines import WHOLE
from tests.amazon.sagemaker.support import ROLE, Refusal, go, running

ODD = (None, True, 7, "x", "Steps.prepare.", [], [1], ["Get"], {}, {"Get": 1}, {"Std:Join": 1})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in a document."""
    if path:
        yield path
    if not isinstance(value, dict | list):
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield from places(each, (*path, key))


def mutants(document: Json, values: Sequence[Any] = ODD) -> Iterator[str]:
    """The document with each of its values replaced by each of the odd ones."""
    for *parents, last in places(document):
        for odd in values:
            made = copy.deepcopy(document)
            here: Any = made
            for key in parents:
                here = here[key]
            here[last] = odd
            yield json.dumps(made)


def test_reading_a_definition_ends_in_a_sentence() -> None:
    for definition in mutants(json.loads(WHOLE)):
        try:
            pipeline_definition.parse(definition)
        except ServiceError as problem:
            assert str(problem)


def test_running_one_ends_too(tmp_path: Path) -> None:
    """Of condition and fail steps, which start no job."""
    made = [condition(name, wanted) for name, (_, wanted) in list(CONDITIONS.items())[-4:]]
    report = {"Std:JsonGet": {"S3Uri": join("/", "s3://a-bucket", "x"), "Path": "$.a[0]['b']"}}
    made.append(condition("last", [compared("Equals", report, get("Steps.not.Outcome"))],
                          fail("ends", join(" ", "so", get("Parameters.Two")))))  # fmt: skip
    declared = (
        parameter("Two", "Integer", 2, EnumValues=[2]), parameter("Name", "String", "x"),
    )  # fmt: skip
    whole = json.loads(text(*made, parameters=declared))

    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sagemaker.put("x", json.dumps({"a": [{"b": False}]}))
            for number, definition in enumerate(mutants(whole, (None, 7, "x", []))):
                name = {"PipelineName": f"p{number}"}
                token = {"ClientRequestToken": f"{number:032}"}
                try:
                    sagemaker(
                        "CreatePipeline", PipelineDefinition=definition, RoleArn=ROLE,
                        **name, **token,
                    )  # fmt: skip
                    started = sagemaker("StartPipelineExecution", **name, **token)
                except Refusal:
                    continue
                described: Json = {"PipelineExecutionStatus": "Executing"}
                while described["PipelineExecutionStatus"] == "Executing":
                    await asyncio.sleep(0)
                    described = sagemaker("DescribePipelineExecution", **started)
                assert "fault" not in described.get("FailureReason", ""), definition
                assert sagemaker("ListPipelineExecutionSteps", **started)
                sagemaker("DeletePipeline", **name, **token)

    go(story())
