"""What OPTIONS(…) of CREATE MODEL may say for each type of model, and what it means if unsaid.

Names, types and defaults: bigqueryml-syntax-create-glm, -boosted-tree, -random-forest, -dnn-models,
-kmeans, -pca. What BigQuery ML knows and scikit-learn cannot do is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented

CLASSIFIERS = {
    "LOGISTIC_REG",
    "DNN_CLASSIFIER",
    "BOOSTED_TREE_CLASSIFIER",
    "RANDOM_FOREST_CLASSIFIER",
}
REGRESSORS = {
    "LINEAR_REG",
    "DNN_REGRESSOR",
    "BOOSTED_TREE_REGRESSOR",
    "RANDOM_FOREST_REGRESSOR",
}
UNSUPERVISED = {"KMEANS", "PCA"}
LINEAR = {"LINEAR_REG", "LOGISTIC_REG"}
DNN = {"DNN_CLASSIFIER", "DNN_REGRESSOR"}
BOOSTED = {"BOOSTED_TREE_CLASSIFIER", "BOOSTED_TREE_REGRESSOR"}
FOREST = {"RANDOM_FOREST_CLASSIFIER", "RANDOM_FOREST_REGRESSOR"}
TYPES = CLASSIFIERS | REGRESSORS | UNSUPERVISED
# What the service can train, import or call besides.
MISSING_TYPES = {
    "MATRIX_FACTORIZATION",
    "AUTOENCODER",
    "ARIMA",
    "ARIMA_PLUS",
    "ARIMA_PLUS_XREG",
    "DNN_LINEAR_COMBINED_CLASSIFIER",
    "DNN_LINEAR_COMBINED_REGRESSOR",
    "AUTOML_CLASSIFIER",
    "AUTOML_REGRESSOR",
    "CONTRIBUTION_ANALYSIS",
    "TRANSFORM_ONLY",
    "TENSORFLOW",
    "TENSORFLOW_LITE",
    "ONNX",
    "XGBOOST",
}
AUTO, NO_SPLIT = "AUTO_SPLIT", "NO_SPLIT"
SPLITS = (AUTO, "RANDOM", "CUSTOM", "SEQ", NO_SPLIT)


@dataclass(frozen=True)
class Option:
    """One option: how its value is checked, and its default."""

    check: Callable[[str, Any], Any]
    default: Any = None


def _whole(low: int, high: int) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise _wrong(name, value, f"a whole number from {low} to {high:,}")
        return value

    return check


def _number(low: float, high: float) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> float:
        if type(value) not in (int, float) or not low <= value <= high:
            raise _wrong(name, value, f"a number from {low:g} to {high:g}")
        return float(value)

    return check


def _truth(name: str, value: Any) -> bool:
    if type(value) is not bool:
        raise _wrong(name, value, "TRUE or FALSE")
    return value


def _text(name: str, value: Any) -> str:
    if type(value) is not str or not value:
        raise _wrong(name, value, "a string")
    return value


def _one_of(*words: str) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> str:
        if type(value) is not str or value.upper() not in words:
            raise _wrong(name, value, f"one of {', '.join(words)}")
        return value.upper()

    return check


def _some_of(works: tuple[str, ...], *others: str) -> Callable[[str, Any], Any]:
    """Return a check of a word: some work, and the service knows others besides."""
    known = _one_of(*works, *others)

    def check(name: str, value: Any) -> str:
        word: str = known(name, value)
        if word not in works:
            raise not_implemented(f"{name}={word!r}; use {' or '.join(map(repr, works))}")
        return word

    return check


def _labels(name: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(type(one) is str and one for one in value):
        raise _wrong(name, value, "an array with the name of the label column")
    if len(value) != 1:
        raise invalid_query(f"Option {name} must name exactly one column, not {len(value)}.")
    return value


def _units(name: str, value: Any) -> list[int]:
    sizes = isinstance(value, list) and all(type(n) is int and 0 < n <= 4096 for n in value)
    if not sizes or not 0 < len(value) <= 16:
        raise _wrong(name, value, "an array of 1 to 16 sizes, each a whole number from 1 to 4,096")
    return list(value)


def _weights(name: str, value: Any) -> list[list[Any]]:
    pairs = isinstance(value, list) and all(isinstance(one, tuple) for one in value)
    if not pairs or not all(
        len(one) == 2 and type(one[0]) is str and type(one[1]) in (int, float) and one[1] > 0
        for one in value
    ):
        raise _wrong(name, value, "an array of STRUCT(label as a string, weight above 0)")
    return [[label, float(weight)] for label, weight in value]


def _wrong(name: str, value: Any, wanted: str) -> Exception:
    return invalid_query(f"Invalid value for option {name}: {value!r} is not {wanted}.")


_MOST = 10.0**9
_REGISTRY = {
    "model_registry": Option(_one_of("VERTEX_AI")),
    "vertex_ai_model_id": Option(_text),
}
_SUPERVISED = _REGISTRY | {
    "input_label_cols": Option(_labels, ["label"]),
    "data_split_method": Option(_one_of(*SPLITS), AUTO),
    "data_split_eval_fraction": Option(_number(0, 1), 0.2),
    "data_split_col": Option(_text),
    "max_iterations": Option(_whole(1, 10_000), 20),
    "early_stop": Option(_truth, True),
}
_PENALTIES = {
    "l1_reg": Option(_number(0, _MOST), 0.0),
    "l2_reg": Option(_number(0, _MOST), 0.0),
}
_BALANCE = {
    "auto_class_weights": Option(_truth, False),
    "class_weights": Option(_weights),
}
_ONE_HOT = {
    "category_encoding_method": Option(
        _some_of(("ONE_HOT_ENCODING",), "DUMMY_ENCODING", "LABEL_ENCODING", "TARGET_ENCODING"),
        "ONE_HOT_ENCODING",
    ),
}
_GLM = (
    _SUPERVISED
    | _PENALTIES
    | _ONE_HOT
    | {"fit_intercept": Option(_truth, True), "enable_global_explain": Option(_truth, False)}
)
_DNN = _SUPERVISED | {
    "hidden_units": Option(_units),
    "activation_fn": Option(
        _some_of(("RELU", "TANH", "SIGMOID"), "RELU6", "CRELU", "ELU", "SELU", "IDENTITY"), "RELU"
    ),
    "batch_size": Option(_whole(1, 2**20), 1024),
    "dropout": Option(_number(0, 1), 0.0),
    "learn_rate": Option(_number(1e-9, 1e3), 0.001),
    "optimizer": Option(_some_of(("ADAM", "SGD"), "ADAGRAD", "FTRL", "RMSPROP"), "ADAM"),
    "l2_reg": _PENALTIES["l2_reg"],
}
_TREES = _SUPERVISED | {
    "category_encoding_method": Option(
        _some_of(("LABEL_ENCODING", "ONE_HOT_ENCODING"), "TARGET_ENCODING"), "LABEL_ENCODING"
    ),
    "tree_method": Option(_some_of(("AUTO", "HIST"), "EXACT", "APPROX"), "AUTO"),
}
_BOOSTED = _TREES | {
    "booster_type": Option(_some_of(("GBTREE",), "DART"), "GBTREE"),
    "max_tree_depth": Option(_whole(1, 64), 6),
    "learn_rate": Option(_number(1e-9, 1), 0.3),
    "l2_reg": Option(_number(0, _MOST), 1.0),
    "min_rel_progress": Option(_number(0, 1), 0.01),
}
_FOREST = {
    name: option
    for name, option in _TREES.items()
    if name not in ("max_iterations", "early_stop", "tree_method")
} | {
    "num_parallel_tree": Option(_whole(2, 1000), 100),
    "max_tree_depth": Option(_whole(1, 64), 15),
    "subsample": Option(_number(0.01, 1), 0.8),
}
_KMEANS = _REGISTRY | {
    "num_clusters": Option(_whole(2, 1000)),
    "max_iterations": Option(_whole(1, 10_000), 20),
    "early_stop": Option(_truth, True),
    "standardize_features": Option(_truth, True),
    "kmeans_init_method": Option(_some_of(("RANDOM", "KMEANS++"), "CUSTOM"), "RANDOM"),
    "distance_type": Option(_some_of(("EUCLIDEAN",), "COSINE"), "EUCLIDEAN"),
}
_PCA = _REGISTRY | {
    "num_principal_components": Option(_whole(1, 100_000)),
    "pca_explained_variance_ratio": Option(_number(1e-9, 1)),
    "scale_features": Option(_truth, True),
    "pca_solver": Option(_some_of(("AUTO", "FULL"), "RANDOMIZED"), "AUTO"),
}
OPTIONS: dict[str, dict[str, Option]] = {
    "LINEAR_REG": _GLM,
    "LOGISTIC_REG": _GLM | _BALANCE,
    "DNN_CLASSIFIER": _DNN | _BALANCE,
    "DNN_REGRESSOR": _DNN,
    "BOOSTED_TREE_CLASSIFIER": _BOOSTED | _BALANCE,
    "BOOSTED_TREE_REGRESSOR": _BOOSTED,
    "RANDOM_FOREST_CLASSIFIER": _FOREST | _BALANCE,
    "RANDOM_FOREST_REGRESSOR": _FOREST,
    "KMEANS": _KMEANS,
    "PCA": _PCA,
}
# Options of the service that scikit-learn has no like of, or that are not here yet.
MISSING = {
    "l1_reg",
    "l2_reg",
    "learn_rate",
    "learn_rate_strategy",
    "ls_init_learn_rate",
    "min_rel_progress",
    "warm_start",
    "optimize_strategy",
    "calculate_p_values",
    "enable_global_explain",
    "num_trials",
    "max_parallel_trials",
    "hparam_tuning_algorithm",
    "hparam_tuning_objectives",
    "kms_key_name",
    "dart_normalize_type",
    "num_parallel_tree",
    "dropout",
    "min_tree_child_weight",
    "colsample_bytree",
    "colsample_bylevel",
    "colsample_bynode",
    "min_split_loss",
    "subsample",
    "instance_weight_col",
    "xgboost_version",
    "approx_global_feature_contrib",
    "kmeans_init_col",
    "tf_version",
    "data_split_test_fraction",
    "integrated_gradients_num_steps",
    "budget_hours",
    "vertex_ai_model_version_aliases",
    "max_iterations",
    "early_stop",
    "tree_method",
}


def check_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return all options of a model, defaults included, `model_type` in capitals.

    Raises Problem.
    """
    given = {name.lower(): value for name, value in given.items()}
    kind = _model_type(given.pop("model_type", None))
    known = OPTIONS[kind]
    for name in given:
        if name not in known:
            if name in MISSING:
                raise not_implemented(f"option {name} of model type {kind}")
            raise invalid_query(f"Option {name} is not supported for model type {kind}.")
    checked = {
        name: option.check(name, given[name]) if given.get(name) is not None else option.default
        for name, option in known.items()
    }
    _consistent(kind, checked)
    return {"model_type": kind} | checked


def _model_type(value: Any) -> str:
    if value is None:
        raise invalid_query("Option model_type is required: OPTIONS(model_type='logistic_reg', …).")
    word = str(value).upper().replace("LINEAR_REGRESSION", "LINEAR_REG")
    word = word.replace("LOGISTIC_REGRESSION", "LOGISTIC_REG")
    if word in MISSING_TYPES:
        raise not_implemented(f"model_type={word!r}; there are {', '.join(sorted(TYPES))}")
    if word not in TYPES:
        raise invalid_query(f"Invalid value for option model_type: {value!r} is not a model type.")
    return word


def _consistent(kind: str, options: dict[str, Any]) -> None:
    """Refuse what single options cannot show."""
    if options.get("dropout"):
        raise not_implemented(f"option dropout of model type {kind}, other than 0")
    if kind in DNN and options["hidden_units"] is None:
        raise invalid_query(f"Option hidden_units is required for model type {kind}.")
    if options.get("auto_class_weights") and options.get("class_weights"):
        raise invalid_query("Options auto_class_weights and class_weights exclude each other.")
    if options.get("data_split_method") in ("CUSTOM", "SEQ") and not options["data_split_col"]:
        method = options["data_split_method"]
        raise invalid_query(f"Option data_split_col is required for data_split_method={method!r}.")
    if kind == "PCA":
        ways = [options["num_principal_components"], options["pca_explained_variance_ratio"]]
        if ways.count(None) != 1:
            raise invalid_query(
                "Model type PCA takes one of the options num_principal_components and"
                " pca_explained_variance_ratio."
            )
    if options.get("vertex_ai_model_id") and not options.get("model_registry"):
        raise invalid_query("Option vertex_ai_model_id requires model_registry='vertex_ai'.")
