"""Bodies of requests for predictions, by hypothesis: good ones, bad ones, and what is none."""

from __future__ import annotations

import json

from hypothesis import strategies as st

FEATURES = ("Pclass", "Sex", "Age", "SibSp", "Parch", "Fare", "Embarked")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
FIELDS = st.sampled_from([*FEATURES, "other"])
INSTANCES = (
    VALUES
    | st.lists(st.floats() | st.integers(), min_size=7, max_size=7)
    | st.dictionaries(FIELDS, VALUES | st.sampled_from(["male", "female", "S"]), max_size=7)
)
BODIES = st.one_of(
    st.binary(max_size=200),
    VALUES.map(lambda value: json.dumps(value).encode()),
    st.lists(INSTANCES, max_size=3).map(
        lambda instances: json.dumps({"instances": instances}).encode()
    ),
)
KINDS = st.sampled_from(["application/json", "application/jsonlines", "text/csv", ""])
