"""The models that a search tries: scikit-learn's pipelines, and what is tuned of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from local_cloud.automl.columns import Columns
from local_cloud.automl.metrics import CLASSIFICATION

if TYPE_CHECKING:
    import optuna

Parameters = Mapping[str, Any]
LINEAR = "linear"
INFREQUENT = 5  # rows; categories with fewer share one column
MOST_CATEGORIES = 30  # of a column; the others share one, too


def build_preprocessing(columns: Columns) -> ColumnTransformer:
    """Build the preparation of columns.

    Missing numbers become medians with an indicator, and are scaled; a category becomes 0/1
    columns.
    """
    numeric = Pipeline(
        [
            (
                "fill",
                SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
            ),
            ("scale", StandardScaler()),
        ]
    )
    categories = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=INFREQUENT,
        max_categories=MOST_CATEGORIES,
        sparse_output=False,
    )
    parts = [
        ("numeric", numeric, [*columns.numeric]),
        ("category", categories, [*columns.categories]),
    ]
    return ColumnTransformer([part for part in parts if part[2]])


def pipeline(
    task: str, columns: Columns, model: str, *, parameters: Parameters, seed: int
) -> Pipeline:
    """Return a model of this name, untrained, after its preprocessing."""
    estimator = MODELS[model][0](task == CLASSIFICATION, dict(parameters), seed)
    return Pipeline([("columns", build_preprocessing(columns)), ("model", estimator)])


def _linear(classes: bool, parameters: dict[str, Any], seed: int) -> Any:
    strength = parameters["strength"]
    return LogisticRegression(C=1 / strength, max_iter=2000) if classes else Ridge(alpha=strength)


def _tune_linear(trial: optuna.Trial) -> Parameters:
    return {"strength": trial.suggest_float("linear.strength", 1e-3, 1e3, log=True)}


def _forest(classes: bool, parameters: dict[str, Any], seed: int) -> Any:
    kind = RandomForestClassifier if classes else RandomForestRegressor
    return kind(**parameters, random_state=seed)


def _extra_trees(classes: bool, parameters: dict[str, Any], seed: int) -> Any:
    kind = ExtraTreesClassifier if classes else ExtraTreesRegressor
    return kind(**parameters, random_state=seed)


def _tune_trees(name: str) -> Callable[[optuna.Trial], Parameters]:
    def tune(trial: optuna.Trial) -> Parameters:
        return {
            "n_estimators": trial.suggest_int(f"{name}.n_estimators", 50, 300, step=50),
            "max_depth": trial.suggest_int(f"{name}.max_depth", 3, 16),
            "min_samples_leaf": trial.suggest_int(f"{name}.min_samples_leaf", 1, 16, log=True),
            "max_features": trial.suggest_float(f"{name}.max_features", 0.2, 1.0),
        }

    return tune


def _build_boosting(classes: bool, parameters: dict[str, Any], seed: int) -> Any:
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(**parameters, early_stopping=False, random_state=seed)


def _tune_boosting(trial: optuna.Trial) -> Parameters:
    return {
        "learning_rate": trial.suggest_float("boosting.learning_rate", 0.01, 0.3, log=True),
        "max_iter": trial.suggest_int("boosting.max_iter", 25, 200, step=25),
        "max_leaf_nodes": trial.suggest_int("boosting.max_leaf_nodes", 4, 32, log=True),
        "min_samples_leaf": trial.suggest_int("boosting.min_samples_leaf", 5, 40, log=True),
        "l2_regularization": trial.suggest_float("boosting.l2", 1e-3, 10.0, log=True),
    }


def _network(classes: bool, parameters: dict[str, Any], seed: int) -> Any:
    kind = MLPClassifier if classes else MLPRegressor
    return kind(
        hidden_layer_sizes=(parameters["units"],) * parameters["layers"],
        alpha=parameters["alpha"],
        learning_rate_init=parameters["learning_rate"],
        max_iter=60,
        random_state=seed,
    )


def _tune_network(trial: optuna.Trial) -> Parameters:
    return {
        "layers": trial.suggest_int("network.layers", 1, 2),
        "units": trial.suggest_int("network.units", 8, 64, log=True),
        "alpha": trial.suggest_float("network.alpha", 1e-4, 1.0, log=True),
        "learning_rate": trial.suggest_float("network.learning_rate", 1e-3, 3e-2, log=True),
    }


# name -> what makes the model, what tunes it, and the values to begin with, as Optuna names them
MODELS: dict[str, tuple[Callable[..., Any], Callable[[optuna.Trial], Parameters], Parameters]] = {
    LINEAR: (_linear, _tune_linear, {"linear.strength": 1.0}),
    "boosting": (
        _build_boosting,
        _tune_boosting,
        {"boosting.learning_rate": 0.05, "boosting.max_iter": 100, "boosting.max_leaf_nodes": 8},
    ),
    "random forest": (
        _forest,
        _tune_trees("random forest"),
        {"random forest.n_estimators": 150, "random forest.max_depth": 8},
    ),
    "extra trees": (
        _extra_trees,
        _tune_trees("extra trees"),
        {"extra trees.n_estimators": 150, "extra trees.max_depth": 10},
    ),
    "network": (_network, _tune_network, {"network.layers": 1, "network.units": 32}),
}
