"""Endpoints that change, fail, restart, and serve models of other kinds."""

from __future__ import annotations

import io
import json
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from botocore.exceptions import ClientError, WaiterError
from sklearn.tree import DecisionTreeClassifier

import local_cloud
from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.endpoints.test_endpoints import client as client
from tests.amazon.sagemaker.endpoints.test_endpoints import named as named
from tests.amazon.sagemaker.serving import CSV, JSON, Trained

pytestmark = pytest.mark.usefixtures("cloud")


def test_variants_share_requests_by_weight_and_survive_a_restart(
    client: Any, named: dict[str, str]
) -> None:
    scaling = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 2}
    config = serving.configuration(
        serving.variant(named["blue"], "one", InitialVariantWeight=0.5),
        serving.variant(named["green"], "two", ManagedInstanceScaling=scaling),
    )
    with serving.endpoint(config) as name:
        split = Counter(serving.invoke(name, 1)["Body"]["name"] for _ in range(150))
        assert 65 < split["green"] < 135  # of 150, two thirds: six standard deviations
        answer = serving.invoke(name, "text", TargetVariant="one")
        assert answer["Body"]["data"] == "text"
        assert (answer["Body"]["name"], answer["InvokedProductionVariant"]) == ("blue", "one")
        client.update_endpoint_weights_and_capacities(
            EndpointName=name,
            DesiredWeightsAndCapacities=[
                {"VariantName": "one", "DesiredWeight": 0, "DesiredInstanceCount": 2},
                {"VariantName": "two", "DesiredWeight": 1},
            ],
        )
        local_cloud.stop()
        local_cloud.activate()
        assert {serving.invoke(name, 1)["Body"]["name"] for _ in range(9)} == {"green"}
        assert serving.invoke(name, 1, TargetVariant="one")["Body"]["name"] == "blue"
        one, two = client.describe_endpoint(EndpointName=name)["ProductionVariants"]
        assert (one["CurrentWeight"], one["DesiredInstanceCount"]) == (0, 2)
        assert two["ManagedInstanceScaling"] == scaling
        with pytest.raises(ClientError, match="do not exist on endpoint"):
            client.update_endpoint_weights_and_capacities(
                EndpointName=name, DesiredWeightsAndCapacities=[{"VariantName": "three"}]
            )


def test_an_update_takes_over_when_it_is_ready_and_rolls_back_when_it_fails(
    client: Any, named: dict[str, str]
) -> None:
    blue, green = (serving.configuration(serving.variant(each)) for each in named.values())
    broken = serving.put({"code/inference.py": "raise ValueError('no such luck')"})
    fails = serving.configuration(serving.variant(serving.model(broken)))
    with serving.endpoint(blue) as name:
        assert serving.invoke(name, 1)["Body"]["name"] == "blue"
        client.update_endpoint(EndpointName=name, EndpointConfigName=green)
        endpoint = client.describe_endpoint(EndpointName=name)
        assert endpoint["EndpointStatus"] == "Updating"
        assert endpoint["PendingDeploymentSummary"]["EndpointConfigName"] == green
        assert serving.invoke(name, 1)["Body"]["name"] in ("blue", "green")
        with pytest.raises(ClientError, match="Cannot update"):
            client.update_endpoint(EndpointName=name, EndpointConfigName=blue)
        assert serving.settled(name)["EndpointConfigName"] == green
        assert serving.invoke(name, 1)["Body"]["name"] == "green"
        client.update_endpoint(EndpointName=name, EndpointConfigName=fails)
        endpoint = serving.settled(name)
        assert endpoint["EndpointConfigName"] == green
        assert "no such luck" in endpoint["FailureReason"]
        assert serving.invoke(name, 1)["Body"]["name"] == "green"


@pytest.mark.parametrize(
    ("files", "container", "reason"),
    [
        ({"code/inference.py": "raise ValueError('no luck')"}, {}, "ping health check.*no luck"),
        ({"readme": "nothing"}, {}, "no code/inference.py, and no .pt"),
        ({"readme": "nothing"}, {"Environment": {"SAGEMAKER_PROGRAM": "a.py"}}, "no code/a.py"),
        ({"readme": "nothing"}, {"image": "me/own:1"}, "me/own:1 is named, not pulled"),
        pytest.param({"model.pt": b"no zip"}, {}, "is not TorchScript", marks=pytest.mark.slow),
    ],
)
def test_a_model_that_does_not_start_fails_the_endpoint_and_says_why(
    client: Any,
    trained: Trained,
    files: dict[str, str | bytes],
    container: dict[str, Any],
    reason: str,
) -> None:
    made = serving.model(serving.put(files), **container)
    with serving.endpoint(serving.configuration(serving.variant(made)), "Failed") as name:
        with pytest.raises(AssertionError, match=f"(?s){reason}"):
            serving.settled(name)
        with pytest.raises(ClientError, match="Failed"):
            serving.invoke(name, 1)
        with pytest.raises(WaiterError):
            client.get_waiter("endpoint_in_service").wait(EndpointName=name)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_without_a_program_torchscript_is_served(trained: Trained) -> None:
    made = serving.model(serving.put({"model.pt": serving.script(trained.weights)}))
    with serving.endpoint(serving.configuration(serving.variant(made))) as name:
        body = json.dumps(trained.rows)
        answer = serving.invoke(name, None, ContentType=JSON, Body=body)["Body"]
        table = "\n".join(",".join(map(str, row)) for row in trained.rows)
        lines = serving.invoke(name, None, ContentType=CSV, Accept=CSV, Body=table)["Body"]
    import torch

    for logits in (answer, [[float(line)] for line in lines.splitlines()]):
        chances = torch.tensor(logits).sigmoid()[:, 0].tolist()
        assert chances == pytest.approx(trained.expected, abs=1e-6)


SCIKIT_LEARN = "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-scikit-learn:1.2-1-cpu-py3"


LOADS = """
import pickle

def model_fn(folder):
    with open(f"{folder}/model.pickle", "rb") as file:
        return pickle.load(file)
"""


def test_a_scikit_learn_model_needs_a_model_fn_and_nothing_else(trained: Trained) -> None:
    """Its image's defaults, which are not PyTorch's; version 2's predictor sends NPY."""
    table = np.arange(6.0).reshape(3, 2)
    classes = [2, 0, 2]
    tree = DecisionTreeClassifier(random_state=0).fit(table, classes)
    data = serving.put({"model.pickle": pickle.dumps(tree), "code/inference.py": LOADS})
    made = serving.model(data, SCIKIT_LEARN)
    np.save(npy := io.BytesIO(), table)
    csv = "\n".join(",".join(map(str, row)) for row in table)
    with serving.endpoint(serving.configuration(serving.variant(made))) as name:
        sent = {"application/x-npy": npy.getvalue(), JSON: json.dumps(table.tolist()), CSV: csv}
        for kind, body in sent.items():
            answer = serving.invoke(name, None, ContentType=kind, Accept=JSON, Body=body)
            assert answer["Body"] == classes
