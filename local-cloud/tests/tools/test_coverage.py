"""The table of calls says what the routes and the protos say."""

from __future__ import annotations

import re
from typing import Any

import pytest
from google.cloud.aiplatform_v1.types import CustomJobSpec, DeployedModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from local_cloud.amazon.protocols.model import service_model
from local_cloud.amazon.sagemaker.resources.request import IGNORED as IGNORED_BY_SAGEMAKER
from local_cloud.amazon.sagemaker.resources.request import MISSING
from local_cloud.google.vertex.endpoints.serving_launch import IGNORED as IGNORED_OF_DEPLOYED
from local_cloud.google.vertex.jobs.launch import IGNORED
from tools import coverage


def nothing(_: Request) -> Response:
    return Response()


def test_the_page_in_git_is_up_to_date() -> None:
    assert coverage.PAGE.read_text(encoding="utf-8") == coverage.page()


def test_a_call_counts_as_working_only_with_a_route_of_its_own() -> None:
    routes = [Route("/v1/a/{id}", nothing), Route("/v1/{rest:path}", nothing)]
    assert coverage.is_answered(routes, "GET", "/v1/a/b")
    assert not coverage.is_answered(routes, "POST", "/v1/a/b")
    assert not coverage.is_answered(routes, "GET", "/v1/b/c")


def test_the_calls_of_an_api_are_those_of_its_definition() -> None:
    routes = [Route("/v2/entries:list", nothing, methods=["POST"])]
    works, missing, collections, _ = coverage.of_definition("logging.v2", routes)
    assert works == "- Works: `entries.list`."
    assert missing == "- Missing: `entries.copy`, `entries.tail`, `entries.write`, `batch`."
    assert "`sinks`" in collections


@pytest.mark.parametrize(
    ("message", "field"),
    [
        *((CustomJobSpec, field) for field in IGNORED),
        *((DeployedModel, field) for field in IGNORED_OF_DEPLOYED),
    ],
)
def test_what_is_said_to_be_ignored_is_a_field_of_the_service(message: Any, field: str) -> None:
    descriptor = message.pb().DESCRIPTOR
    for name in field.replace("[]", "").split("."):
        snake = re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", name)
        assert snake in descriptor.fields_by_name, name
        descriptor = descriptor.fields_by_name[snake].message_type


@pytest.mark.parametrize("field", IGNORED_BY_SAGEMAKER)
def test_what_sagemaker_ignores_is_a_field_of_its_requests(field: str) -> None:
    shape = service_model("sagemaker").operation_model("CreateTrainingJob").input_shape
    for name in field.replace("[]", "").split("."):
        if shape.type_name == "list":
            shape = shape.member
        shape = shape.members[name]


def test_every_field_of_a_training_job_works_or_is_ignored_or_refused() -> None:
    shape = service_model("sagemaker").operation_model("CreateTrainingJob").input_shape
    works = {"TrainingJobName", "HyperParameters", "AlgorithmSpecification", "InputDataConfig"}
    works |= {"OutputDataConfig", "ResourceConfig", "StoppingCondition", "Tags"}
    works |= {"CheckpointConfig", "TensorBoardOutputConfig", "Environment"}
    works |= {"EnableManagedSpotTraining", "ExperimentConfig"}
    assert set(shape.members) - works - set(MISSING) == {
        field for field in IGNORED_BY_SAGEMAKER if "." not in field
    }
