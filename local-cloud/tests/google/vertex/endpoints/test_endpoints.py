"""Endpoints and what is deployed to them, driven by the real SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import requests
from google.api_core import exceptions
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.client.control import Status
from local_cloud.engine.serving.http_client import HttpResponse
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.endpoints.predictions import _extend, _predictions
from testing.request_bodies import BODIES, KINDS
from tests.google.vertex.trained_model import IMAGE, Trained, probabilities, upload
from tests.lesson_code import PASSENGERS

JSON = "application/json"


@pytest.fixture(scope="module")
def model(aiplatform: ModuleType, trained: Trained) -> Any:
    return upload(aiplatform, trained)


@pytest.fixture(scope="module")
def endpoint(aiplatform: ModuleType, model: Any) -> Iterator[Any]:
    """One with the model on it."""
    made = model.deploy(machine_type="n1-standard-2")
    yield made
    made.delete(force=True)


def test_predict_gives_the_models_own_numbers_for_rows_and_passengers(
    endpoint: Any, model: Any, trained: Trained
) -> None:
    for instances in (trained.rows, PASSENGERS):
        answer = endpoint.predict(instances=instances)
        assert probabilities(answer.predictions) == pytest.approx(trained.expected, abs=1e-6)
        (deployed,) = endpoint.list_models()
        assert answer.deployed_model_id == deployed.id
        assert answer.model_resource_name == model.resource_name
        assert answer.model_version_id == "1"
    assert endpoint.traffic_split == {deployed.id: 100}
    assert deployed.dedicated_resources.min_replica_count == 1


def test_raw_predict_passes_body_and_answer_as_they_are(endpoint: Any, trained: Trained) -> None:
    table = "\n".join(",".join(map(str, row)) for row in trained.rows)
    answer = endpoint.raw_predict(
        body=table.encode(), headers={"Content-Type": "text/csv", "Accept": "text/csv"}
    )
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/csv")
    values = [float(line.split(",")[0]) for line in answer.text.splitlines()]
    assert values == pytest.approx(trained.expected, abs=1e-6)
    again = endpoint.predict(instances=trained.rows, use_raw_predict=True)
    assert probabilities(again.predictions) == pytest.approx(trained.expected, abs=1e-6)
    assert again.deployed_model_id == endpoint.list_models()[0].id
    refused = endpoint.raw_predict(body=b"{", headers={"Content-Type": "application/json"})
    assert refused.status_code == 400


def test_explain_shares_the_prediction_out_among_the_features(
    aiplatform: ModuleType, trained: Trained, endpoint: Any
) -> None:
    with pytest.raises(exceptions.BadRequest, match="explanationSpec"):
        endpoint.explain(instances=PASSENGERS)
    average = {"Sex": "male", "Age": 28, "Fare": 14.5}
    inputs = {
        name: {"inputBaselines": [average[name]] if name in average else []}
        for name in PASSENGERS[0]
    }
    metadata = {"inputs": inputs, "outputs": {"probability": {}}}
    explained = upload(
        aiplatform,
        trained,
        explanation_metadata=aiplatform.explain.ExplanationMetadata.from_json(json.dumps(metadata)),
        explanation_parameters=aiplatform.explain.ExplanationParameters(
            {"sampled_shapley_attribution": {"path_count": 10}}
        ),
    )
    other = explained.deploy(machine_type="n1-standard-2")
    explanations = other.explain(instances=PASSENGERS)
    assert probabilities(explanations.predictions) == pytest.approx(trained.expected, abs=1e-6)
    for expected, each in zip(trained.expected, explanations.explanations, strict=True):
        (attribution,) = each.attributions
        assert attribution.instance_output_value == pytest.approx(expected, abs=1e-6)
        shares = dict(attribution.feature_attributions)
        whole = attribution.instance_output_value - attribution.baseline_output_value
        assert sum(shares.values()) == pytest.approx(whole, abs=1e-6)
        assert shares.keys() == PASSENGERS[0].keys()
    first, second = (
        each.attributions[0].feature_attributions for each in explanations.explanations
    )
    assert first["Sex"] != 0
    assert second["Sex"] == 0  # as in the baseline
    other.delete(force=True)
    explained.delete()


def test_a_prediction_that_is_no_number_is_the_models_mistake() -> None:
    content = b'{"predictions": [NaN]}'  # as Python's json writes it
    with pytest.raises(ApiError, match="something other than"):
        _predictions(HttpResponse(200, content))


@pytest.mark.parametrize(
    ("content", "passed_on"),
    [
        (b' {"predictions": [1e2, "\xc3\xa9"]}\n', {"predictions": [100, "é"]}),
        (b'{"metadata": {}, "predictions": []}', {"predictions": [], "metadata": {}}),
        (b'{"other": 1, "predictions": [{}]}', {"predictions": [{}]}),
        (b'{"predictions": ["\xff"]}', {"predictions": ["\ufffd"]}),
    ],
    ids=["as it is", "with metadata", "without the rest", "no UTF-8"],
)
def test_predictions_are_passed_on_with_what_the_service_adds(
    content: bytes, passed_on: dict[str, Any]
) -> None:
    about = {"deployedModelId": "7"}
    assert json.loads(_extend(HttpResponse(200, content), about)) == passed_on | about


def test_bad_instances_are_refused_with_index_and_reason(endpoint: Any) -> None:
    with pytest.raises(exceptions.BadRequest) as refused:
        endpoint.predict(instances=[PASSENGERS[0], {"Sex": "dog"}])
    error = json.loads(str(refused.value).partition("400 ")[2])
    assert error["error"]["instances"][0]["index"] == 1
    assert "female, male" in error["error"]["instances"][0]["reason"]
    with pytest.raises(exceptions.BadRequest, match="at least one"):
        endpoint.predict(instances=[])


@given(body=BODIES, kind=KINDS, method=st.sampled_from(["predict", "rawPredict"]))
def test_any_body_gets_predictions_or_a_reason(
    cloud: Status, endpoint: Any, body: bytes, kind: str, method: str
) -> None:
    url = f"{cloud.url}/v1/{endpoint.resource_name}:{method}"
    answer = requests.post(url, data=body, headers={"Content-Type": kind}, timeout=60)
    if answer.status_code == 200:
        values = answer.json()["predictions"] if kind in ("", JSON) else answer.text.splitlines()
        assert values
    else:
        assert answer.status_code in (400, 415)
        assert answer.json()["error"]["message"]


def test_a_policy_is_kept(aiplatform: ModuleType, endpoint: Any) -> None:
    from google.iam.v1 import iam_policy_pb2, policy_pb2

    client = endpoint.api_client
    name = endpoint.resource_name
    before = client.get_iam_policy(iam_policy_pb2.GetIamPolicyRequest(resource=name))
    assert list(before.bindings) == []
    role, members = "roles/aiplatform.user", ["user:ada@example.com"]
    policy = policy_pb2.Policy(bindings=[policy_pb2.Binding(role=role, members=members)])
    client.set_iam_policy(iam_policy_pb2.SetIamPolicyRequest(resource=name, policy=policy))
    after = client.get_iam_policy(iam_policy_pb2.GetIamPolicyRequest(resource=name))
    assert [(each.role, list(each.members)) for each in after.bindings] == [(role, members)]
    asked = ["aiplatform.endpoints.predict"]
    test = iam_policy_pb2.TestIamPermissionsRequest(resource=name, permissions=asked)
    assert list(client.test_iam_permissions(test).permissions) == asked
    policy.etag = before.etag
    with pytest.raises(exceptions.Conflict):
        client.set_iam_policy(iam_policy_pb2.SetIamPolicyRequest(resource=name, policy=policy))


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        (IMAGE, "serving_container_command"),
        ("us-docker.pkg.dev/vertex-ai/prediction/xgboost-cpu.1-7:latest", "xgboost"),
        ("us-docker.pkg.dev/vertex-ai/prediction/tf2-cpu.2-15:latest", "tf2"),
    ],
)
def test_what_cannot_be_served_here_is_refused_by_name(
    aiplatform: ModuleType, trained: Trained, image: str, problem: str
) -> None:
    model = upload(
        aiplatform, trained, serving_container_image_uri=image, serving_container_command=None
    )
    endpoint = aiplatform.Endpoint.create(display_name="refused")
    with pytest.raises(exceptions.GoogleAPICallError, match=problem):
        model.deploy(endpoint=endpoint, machine_type="n1-standard-2")
    endpoint.delete()
    model.delete()


def test_private_and_dedicated_endpoints_are_refused_by_name(aiplatform: ModuleType) -> None:
    with pytest.raises(exceptions.MethodNotImplemented, match="private endpoints"):
        aiplatform.PrivateEndpoint.create(
            display_name="private", network="projects/1/global/networks/default"
        )
    with pytest.raises(exceptions.MethodNotImplemented, match="dedicated endpoints"):
        aiplatform.Endpoint.create(display_name="dedicated", dedicated_endpoint_enabled=True)
