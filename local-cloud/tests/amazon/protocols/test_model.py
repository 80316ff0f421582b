"""Requests checked against botocore's models, in the services' own words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.protocols.model import check, service_model

CREATE = service_model("sagemaker").operation_model("CreateTrainingJob")
GOOD: dict[str, Any] = {
    "TrainingJobName": "a-job",
    "AlgorithmSpecification": {"TrainingInputMode": "File", "TrainingImage": "image"},
    "RoleArn": "arn:aws:iam::000000000000:role/SageMakerExecutionRole",
    "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
    "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 2, "VolumeSizeInGB": 30},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    "HyperParameters": {"epochs": "5"},
}


def refusal(request: dict[str, Any]) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        check(CREATE, request)
    return caught.value


def test_a_whole_request_passes() -> None:
    check(CREATE, GOOD)


def test_a_missing_member_is_named() -> None:
    problem = refusal({name: value for name, value in GOOD.items() if name != "RoleArn"})
    assert problem.code == "ValidationException"
    assert str(problem) == (
        "1 validation error detected: Value null at 'roleArn' failed to satisfy constraint: "
        "Member must not be null"
    )


@pytest.mark.parametrize(
    ("member", "value", "says"),
    [
        ("TrainingJobName", "no_underscore", "Value 'no_underscore' at 'trainingJobName'"),
        ("TrainingJobName", "x" * 64, "Member must have length less than or equal to 63"),
        ("StoppingCondition", {"MaxRuntimeInSeconds": 0}, "at 'stoppingCondition.maxRuntime"),
        ("ResourceConfig", {"InstanceType": "ml.big"}, "Member must satisfy enum value set: [ml."),
    ],
)
def test_what_does_not_fit_is_named_with_the_rule(member: str, value: Any, says: str) -> None:
    problem = refusal(GOOD | {member: value})
    assert problem.code == "ValidationException"
    assert says in str(problem)


# Observed in public reports of these services (aws/sagemaker-python-sdk#314, .../pull/6016 and
# aws-samples/amazon-sagemaker-pytorch-detectron2#10, read November 2026).
OF_A_TEXT = (
    "Member must have length less than or equal to 2500, Member must have length greater than"
)


@pytest.mark.parametrize(
    ("member", "value", "says"),
    [
        (
            "HyperParameters",
            {"a": "b", "c": "x" * 2501},
            f"Value '{{a=b, c={'x' * 2501}}}' at 'hyperParameters' failed to satisfy constraint:"
            f" Map value must satisfy constraint: [{OF_A_TEXT} or equal to 0, Member must satisfy"
            " regular expression pattern: .*]",
        ),
        ("Environment", {"a b": "c", "d": "e"}, "Value '{a b=c, d=e}' at 'environment' failed to"),
        (
            "HyperParameters",
            {str(number): "" for number in range(101)},
            "at 'hyperParameters' failed to satisfy constraint: Member must have length less than"
            " or equal to 100",
        ),
        (
            "VpcConfig",
            {"Subnets": ["subnet-1", "?"], "SecurityGroupIds": ["sg-1"]},
            "Value '[subnet-1, ?]' at 'vpcConfig.subnets' failed to satisfy constraint: Member must"
            " satisfy constraint: [Member must have length less than or equal to 32, Member must"
            " have length greater than or equal to 0, Member must satisfy regular expression"
            " pattern: [-0-9a-zA-Z]+]",
        ),
        (
            "AlgorithmSpecification",
            GOOD["AlgorithmSpecification"] | {"MetricDefinitions": [{"Name": "", "Regex": "x"}]},
            "Value '' at 'algorithmSpecification.metricDefinitions.1.member.name' failed to satisfy"
            " constraint: Member must have length greater than or equal to 1",
        ),
    ],
)
def test_of_a_list_or_map_the_whole_is_named_and_all_rules_for_what_is_in_it(
    member: str, value: Any, says: str
) -> None:
    assert says in str(refusal(GOOD | {member: value}))


@pytest.mark.parametrize(
    ("key", "is_good"),
    [("équipe 数据²", True), ("a\N{NO-BREAK SPACE}b", True), ("a\tb", False), ("a!", False)],
)
def test_letters_digits_and_separators_of_all_languages_are_those_of_java(
    key: str, is_good: bool
) -> None:
    request = GOOD | {"Tags": [{"Key": key, "Value": ""}]}
    if is_good:
        check(CREATE, request)
    else:
        assert "at 'tags.1.member.key' failed to satisfy" in str(refusal(request))


def test_all_mistakes_are_named_at_once() -> None:
    request = GOOD | {"TrainingJobName": "_", "StoppingCondition": {"MaxRuntimeInSeconds": 0}}
    assert str(refusal(request)).startswith("2 validation errors detected: ")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("TrainingJobName", 5),
        ("HyperParameters", {"epochs": 5}),
        ("ResourceConfig", {"InstanceCount": True}),
        ("ResourceConfig", ["ml.m5.large"]),
        ("TrainingJobname", "a-job"),
    ],
)
def test_another_type_or_an_unknown_member_cannot_be_read(member: str, value: Any) -> None:
    assert refusal(GOOD | {member: value}).code == "SerializationException"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from(sorted(GOOD)),
)
def test_whatever_comes_is_accepted_or_refused(value: Any, member: str) -> None:
    try:
        check(CREATE, GOOD | {member: value})
    except ServiceError as problem:
        assert problem.code in ("ValidationException", "SerializationException")
