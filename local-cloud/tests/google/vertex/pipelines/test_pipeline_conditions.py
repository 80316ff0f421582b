"""The conditions that kfp writes: each means what Python says of the same comparison."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.google.vertex.pipelines.conditions import (
    DEEPEST,
    InvalidCondition,
    compile_condition,
)

SIGNS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
VALUES = {"a": 3, "b": -2.5, "c": 3.0}


def comparison(left: str, sign: str, right: int) -> tuple[str, bool]:
    text = f"inputs.parameter_values['{left}'] {sign} {right}"
    return text, bool(SIGNS[sign](VALUES[left], right))


leaves = st.builds(
    comparison, st.sampled_from(sorted(VALUES)), st.sampled_from(sorted(SIGNS)), st.integers(-4, 4)
)


def grown(inner: st.SearchStrategy[tuple[str, bool]]) -> st.SearchStrategy[tuple[str, bool]]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        inner.map(lambda one: (f"!({one[0]})", not one[1])),
        pairs.map(lambda two: (f"({two[0][0]}) && ({two[1][0]})", two[0][1] and two[1][1])),
        pairs.map(lambda two: (f"({two[0][0]}) || ({two[1][0]})", two[0][1] or two[1][1])),
    )


@given(st.recursive(leaves, grown, max_leaves=8))
def test_a_condition_means_what_it_says(condition: tuple[str, bool]) -> None:
    text, expected = condition
    assert compile_condition(text)(VALUES) is expected


@given(st.text(alphabet="ab01 ()!&|=<>'\"[].,+-inputs_parameter_values", max_size=40))
def test_other_text_is_refused_in_a_sentence(text: str) -> None:
    try:
        compile_condition(text)({})
    except InvalidCondition as problem:
        assert repr(text) in str(problem)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("inputs.parameter_values['x'] == 'it''s'", {"x": "it"}, None),
        ("inputs.parameter_values['x'] == 'it\\'s'", {"x": "it's"}, True),
        ("inputs.parameter_values['x'] == true", {"x": True}, True),
        ("inputs.parameter_values['x'] == 'true'", {"x": True}, False),
        ("int(inputs.parameter_values['x']) > 2", {"x": "3"}, True),
        ("string(inputs.parameter_values['x']) == '3'", {"x": 3.0}, True),
        ("true || inputs.parameter_values['x']", {}, True),  # what is not needed is not looked at
        ("false && inputs.parameter_values['x']", {}, False),
        ("inputs.parameter_values['x'] > 'a'", {"x": 1}, None),
        ("inputs.parameter_values['x'] > 1", {}, None),
        ("inputs.parameter_values['x']", {"x": 1}, None),
        ("int(inputs.parameter_values['x']) > 2", {"x": "many"}, None),
        ("size(inputs.parameter_values['x']) > 2", {"x": "many"}, None),
        ("!" * (DEEPEST + 1) + "true", {}, None),
        ("(" * 10_000, {}, None),
    ],
)
def test_values_of_all_kinds(text: str, values: dict[str, Any], expected: bool | None) -> None:
    if expected is None:
        with pytest.raises(InvalidCondition):
            compile_condition(text)(values)
    else:
        assert compile_condition(text)(values) is expected
