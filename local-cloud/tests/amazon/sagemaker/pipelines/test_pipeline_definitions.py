"""What a definition of a pipeline may say: its conditions, and what is refused."""

from __future__ import annotations

from typing import Any

import boto3
import pytest

from local_cloud.client.control import Status
from local_cloud.json_types import Json
from tests.amazon.sagemaker.conftest import SharedService
from tests.amazon.sagemaker.pipelines.pipeline_definitions import (
    BUCKET,
    TOKEN,
    compared,
    condition,
    ended,
    get,
    make,
    parameter,
    processing,
    start,
    steps,
    text,
)
from tests.amazon.sagemaker.support import ROLE, Refusal


@pytest.fixture(scope="module")
def client(cloud: Status) -> Any:
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    return boto3.client("sagemaker")


# ---- conditions ---------------------------------------------------------------------------------
TWO = get("Parameters.Two")
CONDITIONS: dict[str, tuple[bool, list[Json]]] = {
    "none": (True, []),
    "equals": (True, [compared("Equals", TWO, 2.0)]),
    "text": (False, [compared("Equals", TWO, "2")]),
    "not-a-number": (False, [compared("Equals", get("Parameters.Yes"), 1)]),
    "more": (False, [compared("GreaterThan", TWO, 2)]),
    "less": (True, [compared("LessThan", "a", "b")]),
    "at-most": (True, [compared("LessThanOrEqualTo", TWO, 2)]),
    "all": (False, [compared("Equals", TWO, 2), compared("Equals", TWO, 3)]),
    "or": (
        True,
        [{"Type": "Or", "Conditions": [compared("Equals", TWO, 2), compared("Equals", TWO, 3)]}],
    ),
    "not": (False, [{"Type": "Not", "Condition": compared("Equals", TWO, 2)}]),
    "in": (True, [{"Type": "In", "QueryValue": TWO, "Values": [1, TWO]}]),
    "name": (
        True, [compared("Equals", get("Execution.PipelineName"), get("Parameters.Name"))],
    ),
}  # fmt: skip


def test_conditions(client: Any) -> None:
    made = [condition(name, conditions) for name, (_, conditions) in CONDITIONS.items()]
    declared = (
        parameter("Two", "Integer", 2), parameter("Yes", "Boolean", True),
        parameter("Name", "String"),
    )  # fmt: skip
    name = make(client, text(*made, parameters=declared))
    execution = start(client, name, Name=name)
    ended(client, execution)
    outcomes = {
        name: step["Metadata"]["Condition"]["Outcome"] == "True"
        for name, step in steps(client, execution).items()
    }
    assert outcomes == {name: outcome for name, (outcome, _) in CONDITIONS.items()}


def test_what_cannot_be_compared_fails_the_step(client: Any) -> None:
    wrong = text(condition("wrong", [compared("LessThan", "1", 2)]))
    execution = start(client, make(client, wrong))
    assert ended(client, execution, "Failed")["FailureReason"].startswith("Step failure")
    assert "'1' and 2 cannot be compared" in steps(client, execution)["wrong"]["FailureReason"]


# ---- what is refused ----------------------------------------------------------------------------
A = processing("a", "")


def create(shared: SharedService, definition: str) -> Json:
    return shared(
        "CreatePipeline",
        PipelineName="refused",
        PipelineDefinition=definition,
        RoleArn=ROLE,
        ClientRequestToken=TOKEN,
    )


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ("{", "PipelineDefinition is not JSON"),
        ("[]", '"Version" must be "2020-12-01"'),
        (text(), "a pipeline needs a step"),
        (text(A, A), "two are called a"),
        (text(A | {"Name": "a b"}), "'a b' cannot name a step"),
        (text(A | {"Type": "Lambda"}), "pipeline steps of type Lambda"),
        (text(A | {"Loop": 1}), "not implemented in the local cloud: step a: Loop"),
        (text(A | {"DependsOn": ["b"]}), "there is no step b in this pipeline"),
        (text(A | {"DependsOn": [{"Step": "b"}]}), "DependsOn with a status of the other step"),
        (text(A | {"DependsOn": ["a"]}), "Steps wait for each other: a -> a"),
        (text(A | {"CacheConfig": {"Enabled": True, "ExpireAfter": "soon"}}), "like P30D"),
        (text(processing("a", "", get("Parameters.X"))), "Parameters.X is not among"),
        (text(processing("a", "", get("Execution.X"))), "is not an execution variable"),
        (text(processing("a", "", get("Steps.b.X"))), "there is no step b"),
        (text(processing("a", "", {"Std:Sum": []})), "Std:Sum: not implemented"),
        (text(condition("a", [compared("Near", 1, 2)])), "'Near' is not a type of condition"),
        (text(A, parameters=(parameter("x", "Integer", True),)), "True is not of type Integer"),
        (text(A, parameters=(parameter("x", "Date"),)), "'Date' is not one of String"),
        (
            text(A, parameters=(parameter("x", "String", "c", EnumValues=["a", "b"]),)),
            "'c' is not one of a, b",
        ),
    ],
)
def test_a_definition_that_cannot_run_is_refused(
    shared: SharedService, definition: str, said: str
) -> None:
    with pytest.raises(Refusal) as refused:
        create(shared, definition)
    assert said in str(refused.value)


def test_a_name_is_used_once_and_an_update_changes_the_definition(shared: SharedService) -> None:
    named = {"PipelineName": "kept", "RoleArn": ROLE}
    made = shared("CreatePipeline", PipelineDefinition=text(A), ClientRequestToken=TOKEN, **named)
    again = shared("CreatePipeline", PipelineDefinition=text(A), ClientRequestToken=TOKEN, **named)
    assert again == made  # the same token: sent again
    with pytest.raises(Refusal, match="must be unique within an AWS account"):
        shared("CreatePipeline", PipelineDefinition=text(A), ClientRequestToken="u" * 32, **named)
    other = text(processing("b", ""))
    where = shared.put("definition.json", other).removeprefix("s3://").partition("/")
    shared(
        "UpdatePipeline",
        PipelineName="kept",
        PipelineDefinitionS3Location={"Bucket": where[0], "ObjectKey": where[2]},
    )
    pipeline = shared("DescribePipeline", PipelineName="kept")
    assert pipeline["PipelineDefinition"] == other and pipeline["PipelineStatus"] == "Active"
    (listed,) = shared("ListPipelines", PipelineNamePrefix="kep")["PipelineSummaries"]
    assert listed["PipelineArn"] == made["PipelineArn"]


def test_parameters_have_to_be_of_their_type(shared: SharedService) -> None:
    declared = (
        parameter("Count", "Integer", 1), parameter("Must", "String"),
        parameter("Share", "Float", 0.5),
    )  # fmt: skip
    shared(
        "CreatePipeline", PipelineName="typed", RoleArn=ROLE, ClientRequestToken=TOKEN,
        PipelineDefinition=text(A, parameters=declared),
    )  # fmt: skip
    for values, said in (
        ({"Must": "x", "Count": "two"}, "'two' is not of type Integer"),
        ({"Must": "x", "Share": "nan"}, "'nan' is not of type Float"),
        ({"Must": "x", "Other": "1"}, "the pipeline has no Other"),
        ({}, "Parameter Must has no default"),
    ):
        given = [{"Name": name, "Value": value} for name, value in values.items()]
        with pytest.raises(Refusal, match=said):
            shared(
                "StartPipelineExecution", PipelineName="typed", ClientRequestToken=TOKEN,
                PipelineParameters=given,
            )  # fmt: skip
    with pytest.raises(Refusal, match="does not exist"):
        shared("StartPipelineExecution", PipelineName="nobodys", ClientRequestToken=TOKEN)
