"""What OPTIONS(…), the split of the rows and the preparation of columns do, without a server."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from local_cloud.google.bigquery.api.errors import Problem
from local_cloud.google.bigquery.ml import options, preparation, split


def test_what_is_unsaid_has_the_documented_default() -> None:
    checked = options.check_options({"model_type": "logistic_reg"})
    assert checked["input_label_cols"] == ["label"]
    assert (checked["max_iterations"], checked["l2_reg"], checked["early_stop"]) == (20, 0.0, True)
    trees = options.check_options({"MODEL_TYPE": "Boosted_Tree_Classifier"})
    assert (trees["max_tree_depth"], trees["learn_rate"]) == (6, 0.3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "model_type is required"),
        ({"model_type": "logistc"}, "'logistc' is not a model type"),
        ({"model_type": "arima_plus"}, "not implemented in the local cloud: model_type="),
        ({"model_type": "autoencoder"}, "not implemented in the local cloud: model_type="),
        ({"model_type": "linear_reg", "l2": 1}, "Option l2 is not supported for model type"),
        ({"model_type": "linear_reg", "warm_start": True}, "not implemented .*: option warm_start"),
        ({"model_type": "linear_reg", "l2_reg": "much"}, "l2_reg: 'much' is not a number"),
        ({"model_type": "linear_reg", "l2_reg": True}, "l2_reg: True is not a number"),
        ({"model_type": "linear_reg", "max_iterations": 1.5}, "not a whole number"),
        ({"model_type": "linear_reg", "input_label_cols": "y"}, "an array"),
        ({"model_type": "linear_reg", "input_label_cols": ["y", "z"]}, "exactly one column"),
        ({"model_type": "linear_reg", "data_split_method": "SEQ"}, "data_split_col is required"),
        ({"model_type": "dnn_classifier"}, "hidden_units is required"),
        ({"model_type": "dnn_classifier", "hidden_units": [0]}, "hidden_units"),
        (
            {"model_type": "dnn_classifier", "hidden_units": [4], "dropout": 0.5},
            "not implemented .*: option dropout",
        ),
        (
            {"model_type": "dnn_classifier", "hidden_units": [4], "optimizer": "ADAGRAD"},
            "not implemented .*: optimizer='ADAGRAD'; use 'ADAM' or 'SGD'",
        ),
        ({"model_type": "pca"}, "one of the options num_principal_components"),
        ({"model_type": "kmeans", "distance_type": "cosine"}, "not implemented .*: distance_type"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Problem, match=said):
        options.check_options(given)


def held(table: pa.Table, **given: Any) -> np.ndarray | None:
    return split.evaluation_rows(table, options.check_options({"model_type": "linear_reg"} | given))


def test_auto_split_is_by_the_number_of_rows_and_always_the_same() -> None:
    def table(rows: int) -> pa.Table:
        return pa.table({"a": np.arange(rows), "b": [None, "x"] * (rows // 2)})

    assert held(table(498)) is None
    for rows, evaluated in ((500, 100), (50_000, 10_000), (60_000, 10_000)):
        mask = held(table(rows))
        assert mask is not None
        assert mask.sum() == evaluated
    small = table(1000)
    order = np.random.default_rng(0).permutation(1000)
    one, other = held(small), held(small.take(order))
    assert one is not None and other is not None
    assert (one[order] == other).all(), "the same rows, in whichever order they come"


def test_seq_holds_the_largest_back_and_custom_what_is_true_or_null() -> None:
    table = pa.table({"day": [3, 1, 5, 2, 4], "x": [True, False, None, False, False]})
    sequential = held(
        table, data_split_method="seq", data_split_col="day", data_split_eval_fraction=0.4
    )
    assert sequential is not None
    assert sequential.tolist() == [False, False, True, False, True]
    custom = held(table, data_split_method="custom", data_split_col="X")
    assert custom is not None
    assert custom.tolist() == [True, False, True, False, False]
    with pytest.raises(Problem, match="must be BOOL"):
        held(table, data_split_method="custom", data_split_col="day")


def test_columns_are_prepared_as_documented() -> None:
    table = pa.table(
        {
            "number": [1.0, None, 3.0, 5.0],
            "word": ["b", "a", None, "b"],
            "truth": [True, False, True, True],
            "day": [datetime.date(2024, 2, 1 + i) for i in range(4)],
        }
    )
    features = preparation.fit(table, table.column_names, scaled=True, one_hot=True)
    names = [one["name"] for one in features]
    assert names[:4] == ["number", "word", "truth", "day_unix_seconds"]
    assert "day_day_of_week" in names
    assert "day_hour_of_day" not in names
    made = preparation.matrix(table, features)
    filled = np.array([1, 3, 3, 5])
    assert made[:, 0] == pytest.approx((filled - 3) / filled.std())
    assert made[:, 1:4].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]]

    unknown = preparation.matrix(table.set_column(1, "word", pa.array(["new"] * 4)), features)
    assert unknown[:, 1:4].sum() == 0, "a category that was not there weighs nothing"
    trees = preparation.fit(table, ["number", "word"], scaled=False, one_hot=False)
    assert preparation.matrix(table, trees).tolist() == [[1, 1], [3, 0], [3, 2], [5, 1]]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([[1], [2]]), "not implemented .*: features of type ARRAY or STRUCT: column c"),
        (pa.array([b"1", b"2"]), "Column c has type binary"),
        (pa.array([float("inf"), 1.0]), "infinite"),
    ],
)
def test_columns_of_other_types_are_refused_by_name(column: pa.Array, said: str) -> None:
    with pytest.raises(Problem, match=said):
        preparation.fit(pa.table({"c": column}), ["c"], scaled=True, one_hot=True)
