"""What Google's definitions let pass, in which form it comes out, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from local_cloud.google.definitions.api import api
from local_cloud.google.definitions.values import WrongValue

BIGQUERY, STORAGE = api("bigquery.v2"), api("storage.v1")
QUERY = BIGQUERY.method("POST", "/bigquery/v2/projects/{project}/queries")
TABLE = "/bigquery/v2/projects/{project}/datasets/{dataset}/tables/{table}"
INSERT = BIGQUERY.method("POST", f"{TABLE}/insertAll")
PATCH = BIGQUERY.method("PATCH", TABLE)


@pytest.mark.parametrize(
    ("sent", "usual"),
    [
        ({"maxResults": "5"}, {"maxResults": 5}),
        ({"maxResults": 5.0}, {"maxResults": 5}),
        ({"maximumBytesBilled": 7}, {"maximumBytesBilled": "7"}),
        ({"maximumBytesBilled": "7"}, {"maximumBytesBilled": "7"}),
        ({"useLegacySql": "false"}, {"useLegacySql": False}),
        ({"query": None, "noSuchField": [1]}, {}),
        ({"labels": {"a": "b", "c": None}}, {"labels": {"a": "b"}}),
    ],
)
def test_each_form_that_the_service_takes_becomes_the_usual_one(sent: Any, usual: Any) -> None:
    assert QUERY.body(sent) == usual


def test_null_is_a_value_of_a_row_and_removes_a_field_in_a_patch() -> None:
    rows = {"rows": [{"json": {"x": None}}]}
    assert INSERT.body(rows) == rows
    assert PATCH.body({"description": None}) == {"description": None}


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"maxResults": -1}, "'maxResults' (TYPE_UINT32), -1"),
        ({"maxResults": True}, "'maxResults' (TYPE_UINT32), True"),
        ({"timeoutMs": ""}, "'timeoutMs' (TYPE_UINT32), ''"),
        ({"queryParameters": [None]}, "'queryParameters[0]' (TYPE_MESSAGE), None"),
        ({"defaultDataset": {"datasetId": 5}}, "'defaultDataset.datasetId' (TYPE_STRING), 5"),
        ({"queryParameters": {}}, "'queryParameters' (TYPE_LIST), {}"),
        ({"maximumBytesBilled": 2**63}, "'maximumBytesBilled' (TYPE_INT64), 9223372036854775808"),
        ({"dryRun": 1}, "'dryRun' (TYPE_BOOL), 1"),
    ],
)
def test_anything_else_is_refused_by_its_name(sent: Any, said: str) -> None:
    with pytest.raises(WrongValue) as caught:
        QUERY.body(sent)
    assert str(caught.value) == f"Invalid value at {said}"


def test_a_parameter_is_text_that_has_to_be_of_its_type() -> None:
    listing = STORAGE.method("GET", "/storage/v1/b")
    listing.check_query(
        [("maxResults", "5"), ("prefix", "7"), ("unknown", "x"), ("maxResults", "")]
    )
    for wrong in ("-1", "x", "9" * 5000, "1.5"):
        with pytest.raises(WrongValue, match="maxResults"):
            listing.check_query([("maxResults", "5"), ("maxResults", wrong)])
