"""Metrics: by hand where that is easy."""

from __future__ import annotations

import numpy as np
import pytest

from local_cloud.automl import metrics

TRUTH = np.array([0, 0, 1, 1])
CERTAIN = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]])  # the second one is wrong


def test_classes_get_a_matrix_and_a_row_for_each_threshold() -> None:
    evaluation = metrics.evaluation("classification", TRUTH, CERTAIN, classes=("card", "cash"))
    assert evaluation["accuracy"] == 0.75
    assert evaluation["logLoss"] == pytest.approx(-np.log([0.9, 0.4, 0.8, 0.7]).mean())
    assert evaluation["confusionMatrix"] == {"classes": ["card", "cash"], "rows": [[1, 1], [0, 2]]}
    half = next(row for row in evaluation["thresholds"] if row["threshold"] == 0.5)
    assert (half["precision"], half["recall"], half["truePositives"]) == (0.75, 0.75, 3)
    assert evaluation["recall"] == 1.0 and evaluation["precision"] == pytest.approx(2 / 3)


def test_values_get_errors_and_the_logarithmic_one_where_there_is_one() -> None:
    truth = np.array([1.0, 2.0, 3.0])
    errors = metrics.of("regression", truth, truth + 1)
    assert errors["rootMeanSquaredError"] == errors["meanAbsoluteError"] == 1.0
    assert errors["rSquared"] == pytest.approx(-0.5)
    assert "rootMeanSquaredLogError" not in metrics.of("regression", -truth, truth)


def test_two_classes_of_which_one_is_there_have_no_area() -> None:
    areas = metrics.classification(np.array([1, 1]), np.array([[0.2, 0.8], [0.6, 0.4]]))
    assert areas["auRoc"] == 0.0
    assert all(np.isfinite(list(areas.values())))
