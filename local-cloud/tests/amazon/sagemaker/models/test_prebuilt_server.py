"""What Amazon's PyTorch image answers where a program leaves a step to its toolkit."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import boto3
import numpy as np
import pytest
import torch
from botocore.exceptions import ClientError

from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.serving import CSV, JSON, Trained

NPY = "application/x-npy"
TENTH = 0.10000000149011612  # 0.1 of float32, in Python's full digits

# It has no output_fn; the request names what the model predicts.
PREDICTS = """
import json
import numpy as np
import torch
from sagemaker_inference import errors

PREDICTIONS = {
    "dict": {"mean": np.float32(0.5), "all": np.arange(2), "tensor": torch.ones(2)},
    "list": [1, "two", None],
    "array": np.array([[0.5, 1.5]]),
    "tensor": torch.tensor([[0.1], [2.0]]),
}

def model_fn(folder):
    return PREDICTIONS

def input_fn(body, content_type):
    return json.loads(body)

def predict_fn(name, model, context):
    context.set_response_header(0, "X-Amzn-SageMaker-Custom-Attributes", f"about {name}")
    if name == "teapot":
        raise errors.GenericInferenceToolkitError(418, "no coffee")
    return model[name]
"""
RAW = """
def model_fn(folder):
    return None
def transform_fn(model, body, content_type, accept):
    return {"a": 1} if body == "1" else {1, 2}
"""


def served(files: dict[str, str | bytes]) -> Iterator[str]:
    made = serving.model(serving.put(files))
    with serving.endpoint(serving.configuration(serving.variant(made))) as name:
        yield name


@pytest.fixture(scope="module")
def program(trained: Trained) -> Iterator[str]:
    yield from served({"code/inference.py": PREDICTS})


@pytest.fixture(scope="module")
def script(trained: Trained) -> Iterator[str]:
    """A model that returns what it gets, and no program."""
    jit: Any = torch.jit
    body = io.BytesIO()
    jit.save(jit.script(torch.nn.Identity()), body)
    yield from served({"model.pt": body.getvalue()})


def ask(endpoint: str, body: str | bytes, **more: str) -> Any:
    client = boto3.client("sagemaker-runtime")
    wish = {"ContentType": JSON, "Accept": JSON} | more
    return client.invoke_endpoint(EndpointName=endpoint, Body=body, **wish)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dict", {"mean": 0.5, "all": [0, 1], "tensor": [1.0, 1.0]}),
        ("list", [1, "two", None]),
        ("array", [[0.5, 1.5]]),
        ("tensor", [[TENTH], [2.0]]),
    ],
)
def test_without_an_output_fn_any_prediction_becomes_json(
    program: str, name: str, expected: Any
) -> None:
    answer = ask(program, json.dumps(name))
    assert json.loads(answer["Body"].read()) == expected
    assert answer["CustomAttributes"] == f"about {name}"


def test_a_programs_error_has_its_own_status(program: str) -> None:
    with pytest.raises(ClientError) as refused:
        ask(program, '"teapot"')
    assert refused.value.response["OriginalStatusCode"] == 418
    assert refused.value.response["OriginalMessage"].startswith("no coffee\n")


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
class TestDefaults:
    """The toolkit's own steps, around a model that returns what it gets."""

    def test_the_first_known_type_of_accept_is_written(self, script: str) -> None:
        for accept, text in (
            ("image/png, text/csv, application/json", f"{TENTH}\n1.0\n"),
            ("image/png,application/json, text/csv", f"[{TENTH}, 1.0]"),
        ):
            answer = ask(script, "[0.1, 1]", Accept=accept)
            assert answer["Body"].read().decode() == text
        with pytest.raises(ClientError, match="Content type image/png is not supported"):
            ask(script, "[0.1, 1]", Accept="image/png")

    def test_arrays_keep_their_type_on_the_way_in(self, script: str) -> None:
        for array, expected in (
            (np.array([[1, 2]], dtype=np.int64), np.int64),
            (np.array([[0.1, 2]], dtype=np.float64), np.float64),
        ):
            np.save(sent := io.BytesIO(), array)
            answer = ask(script, sent.getvalue(), ContentType=NPY, Accept=NPY)
            answered = np.load(io.BytesIO(answer["Body"].read()))
            assert answered.dtype == expected and np.array_equal(answered, array)

    def test_csv_has_one_type_in_all_columns(self, script: str) -> None:
        """Amazon's decoder gives each column its own type, of which torch makes no tensor."""
        answer = ask(script, "1,2\n3,4\n", ContentType=CSV, Accept=CSV)
        assert answer["Body"].read() == b"1.0,2.0\n3.0,4.0\n"
        with pytest.raises(ClientError) as refused:
            ask(script, "1,2.5\n3,4.5\n", ContentType=CSV)
        assert refused.value.response["OriginalStatusCode"] == 500


def test_what_transform_fn_returns_is_sent_as_torchserve_sends_it(trained: Trained) -> None:
    for endpoint in served({"code/inference.py": RAW}):
        assert json.loads(ask(endpoint, "1")["Body"].read()) == {"a": 1}
        with pytest.raises(ClientError) as refused:
            ask(endpoint, "2")
        assert refused.value.response["OriginalStatusCode"] == 503
        assert "Unsupported model output data type" in refused.value.response["OriginalMessage"]
