"""A request is data: the SDK's calls with their arguments, which print themselves as Python."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from lesson.jobs.request import Request, Result, copy_arguments


class Colour(Enum):
    RED = 1


class Spec:
    """As the SDKs' small objects are: no repr of its own, and the arguments as attributes."""

    def __init__(self, low: float, values: list[str]) -> None:
        self.low, self.values = low, values


class Job:
    """As the SDKs' jobs are."""

    def __init__(self, name: str, spec: Any = None, colour: Colour | None = None) -> None:
        self.name, self.spec, self.colour = name, spec, colour
        self.made = [f"made {name}"]

    @classmethod
    def from_script(cls, name: str) -> Job:
        return cls(f"script {name}")

    def label(self, text: str) -> Job:
        self.made.append(f"label {text}")
        return self

    def submit(self, count: int) -> Job:
        self.made.append(f"submit {count}")
        return self


@pytest.fixture
def request_() -> Request:
    return Request(
        {
            "Job.from_script": {"name": "b"},
            "Job": {"name": "a", "spec": Result("Job.from_script"), "colour": Colour.RED},
            "label": {"text": "x"},
            "submit": {"count": 2},
        }
    )


def test_it_is_a_dict_whose_arguments_are_found_by_the_names_of_the_calls(
    request_: Request,
) -> None:
    assert request_["submit"]["count"] == 2 and request_["Job.from_script"] == {"name": "b"}
    job = Job(**request_["Job"] | {"spec": Job.from_script(**request_["Job.from_script"])})
    assert job.label(**request_["label"]).submit(**request_["submit"]).made[1:] == [
        "label x",
        "submit 2",
    ]


def test_it_is_printed_as_the_python_that_makes_the_calls(request_: Request) -> None:
    assert repr(request_) == (
        "Job(\n"
        "    name='a',\n"
        "    spec=Job.from_script(\n"
        "        name='b',\n"
        "    ),\n"
        "    colour=Colour.RED,\n"
        ").label(\n"
        "    text='x',\n"
        ").submit(\n"
        "    count=2,\n"
        ")"
    )
    job = eval(repr(request_), {"Job": Job, "Colour": Colour})
    assert job.spec.name == "script b" and job.made == ["made a", "label x", "submit 2"]


def test_a_call_of_a_client_is_printed_with_it_and_begins_a_line() -> None:
    calls: dict[str, dict[str, Any]] = {
        "Job": {"name": "a"},
        "create_endpoint": {"Name": "b"},
        "wait": {},
    }
    request = Request(calls, clients={"create_endpoint": 'client("sagemaker")'})
    lines = repr(request).splitlines()
    assert lines[3:] == ['client("sagemaker").create_endpoint(', "    Name='b',", ").wait(", ")"]


def test_what_an_sdk_fills_in_is_filled_into_a_copy() -> None:
    class Model:
        def __init__(self, size: int | None) -> None:
            self.size = size

        def model_copy(self, deep: bool) -> Model:
            return Model(self.size)

    arguments: dict[str, Any] = {"compute": Model(None), "several": [Model(None)], "name": "a"}
    copy = copy_arguments(arguments)
    for model in (copy["compute"], *copy["several"]):
        model.size = 30
    assert arguments["compute"].size is None and arguments["several"][0].size is None
    assert copy["name"] == "a"


def test_long_values_take_several_lines_and_all_of_it_is_python() -> None:
    long = [f"--flag-{number}=value" for number in range(9)]
    request = Request({"Job": {"name": "a", "spec": {"specs": [Spec(0.1, long)], "few": ["b"]}}})
    lines = repr(request).splitlines()
    assert max(map(len, lines)) < 100 and "        'few': ['b']," in lines
    job = eval(repr(request), {"Job": Job, "Spec": Spec})
    assert job.spec["specs"][0].values == long


def test_an_object_that_cannot_be_written_in_full_is_named() -> None:
    spec = Spec(0.1, [])
    spec.low = object()  # type: ignore[assignment]
    assert "spec=Spec()," in repr(Request({"Job": {"name": "a", "spec": spec}}))


def test_without_calls_it_is_empty() -> None:
    assert not Request() and repr(Request()) == "Request()"
