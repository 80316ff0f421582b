"""A request is calls that have not been made: to be read, and then made in order."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Any

import pytest

from lesson.request import Request


class Colour(Enum):
    RED = 1


class Spec:
    """As the SDKs' small objects are: no repr of its own, and the arguments as attributes."""

    def __init__(self, low: float, values: list[str]) -> None:
        self.low, self.values = low, values


class Job:
    """As the SDKs' jobs are."""

    made: list[str]

    def __init__(self, name: str, spec: Any = None, colour: Colour | None = None) -> None:
        self.name, self.spec, self.made = name, spec, [f"made {name}"]

    @classmethod
    def from_script(cls, name: str) -> Job:
        return cls(f"script {name}")

    def label(self, text: str) -> Job:
        self.made.append(f"label {text}")
        return self

    def submit(self, count: int, inner: Any = None) -> None:
        self.made.append(f"submit {count}" + (f" {inner.name}" if inner else ""))


@pytest.fixture
def request_() -> Request:
    return Request(
        partial(Job, name="a", spec=partial(Job.from_script, name="b"), colour=Colour.RED),
        partial(Job.label, text="x"),
        partial(Job.submit, count=2, inner=partial(Job, name="c")),
    )


def test_the_calls_are_made_in_order_on_one_object_and_inner_ones_first(request_: Request) -> None:
    job = request_.send()
    assert job.made == ["made a", "label x", "submit 2 c"] and job.spec.name == "script b"


def test_an_object_that_was_made_before_is_the_one_that_is_sent(request_: Request) -> None:
    job = request_.make()
    assert job.made == ["made a"]
    assert request_.send(job) is job and job.made[1:] == ["label x", "submit 2 c"]


def test_the_arguments_are_found_by_the_names_of_the_calls(request_: Request) -> None:
    assert [*request_] == ["Job.from_script", "Job", "label", "submit"]
    assert request_["submit"]["count"] == 2
    assert request_["Job.from_script"] == {"name": "b"}


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
        "    inner=Job(\n"
        "        name='c',\n"
        "    ),\n"
        ")"
    )
    job = eval(repr(request_), {"Job": Job, "Colour": Colour})
    assert job is None  # what submit() returns


def test_another_request_may_follow_whose_calls_are_made_after_it() -> None:
    made: list[str] = []

    def first(name: str) -> None:
        made.append(name)

    def second(name: str) -> str:
        made.append(name)
        return name

    both = Request(partial(first, name="a"), then=Request(partial(second, name="b")))
    assert [*both] == ["first", "second"] and both["second"] == {"name": "b"}
    assert both.send() == "b" and made == ["a", "b"]
    assert repr(both).count("\n)\n") == 1 and repr(both).endswith("    name='b',\n)")


def test_long_values_take_several_lines_and_all_of_it_is_python() -> None:
    long = [f"--flag-{number}=value" for number in range(9)]
    request = Request(partial(Job, name="a", spec={"specs": [Spec(0.1, long)], "few": ["b"]}))
    lines = repr(request).splitlines()
    assert max(map(len, lines)) < 100 and "        'few': ['b']," in lines
    job = eval(repr(request), {"Job": Job, "Spec": Spec})
    assert job.spec["specs"][0].values == long


def test_an_object_that_cannot_be_written_in_full_is_named() -> None:
    spec = Spec(0.1, [])
    spec.low = object()  # type: ignore[assignment]
    assert "spec=Spec()," in repr(Request(partial(Job, name="a", spec=spec)))


def test_without_calls_it_is_empty() -> None:
    assert not Request() and repr(Request()) == "Request()"
