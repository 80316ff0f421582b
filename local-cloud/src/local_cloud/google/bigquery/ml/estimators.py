"""Train with scikit-learn, and keep what was learned as plain arrays.

Each function takes the options, the prepared matrix, the targets (class numbers for a classifier)
and the weights of rows (None: all the same), and returns arrays for scores.py and the losses on the
training rows, one per iteration that the library tells of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.ml.options import BOOSTED, CLASSIFIERS, DNN, FOREST

if TYPE_CHECKING:
    import numpy as np

Arrays = dict[str, "np.ndarray"]
Fitted = tuple[Arrays, list[float]]
SEED = 0


def fit(
    options: dict[str, Any], x: np.ndarray, y: np.ndarray | None, *, weights: np.ndarray | None
) -> Fitted:
    """Train a model of the type that the options name."""
    kind = options["model_type"]
    for kinds, function in FAMILIES:
        if kind in kinds:
            return function(options, x, y, weights=weights)
    raise AssertionError(kind)


def _linear(options: dict[str, Any], x: Any, y: Any, *, weights: Any) -> Fitted:
    import numpy as np
    from sklearn import linear_model

    l1, l2 = options["l1_reg"], options["l2_reg"]
    intercept = options["fit_intercept"]
    model: Any
    if l1:
        model = linear_model.ElasticNet(
            alpha=(l1 + l2) / len(x),
            l1_ratio=l1 / (l1 + l2),
            fit_intercept=intercept,
            max_iter=max(options["max_iterations"], 1000),
        )
    elif l2:
        model = linear_model.Ridge(alpha=l2, fit_intercept=intercept)
    else:
        model = linear_model.LinearRegression(fit_intercept=intercept)
    model.fit(x, y)
    arrays = {
        "coefficients": model.coef_.reshape(1, -1),
        "intercept": np.array([model.intercept_]).ravel(),
    }
    return arrays, []


def _logistic(options: dict[str, Any], x: Any, y: Any, *, weights: Any) -> Fitted:
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    l1, l2 = options["l1_reg"], options["l2_reg"]
    model = LogisticRegression(
        C=1 / (l1 + l2) if l1 + l2 else np.inf,
        l1_ratio=l1 / (l1 + l2) if l1 else 0.0,
        solver="saga" if l1 else "lbfgs",
        tol=1e-4 if options["early_stop"] else 1e-12,
        max_iter=options["max_iterations"],
        fit_intercept=options["fit_intercept"],
        random_state=SEED,
    )
    model.fit(x, y, sample_weight=weights)
    intercept = np.zeros(len(model.coef_)) + model.intercept_
    arrays = {
        "coefficients": model.coef_,
        "intercept": intercept,
        "iterations": np.array([int(model.n_iter_.max())]),
    }
    return arrays, []


def _network(options: dict[str, Any], x: Any, y: Any, *, weights: Any) -> Fitted:
    import numpy as np
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    kind = MLPClassifier if options["model_type"] in CLASSIFIERS else MLPRegressor
    model = kind(
        hidden_layer_sizes=options["hidden_units"],
        activation={"SIGMOID": "logistic"}.get(
            options["activation_fn"], options["activation_fn"].lower()
        ),
        solver=options["optimizer"].lower(),
        alpha=options["l2_reg"],
        batch_size=min(options["batch_size"], len(x)),
        learning_rate_init=options["learn_rate"],
        max_iter=options["max_iterations"],
        n_iter_no_change=10 if options["early_stop"] else options["max_iterations"] + 1,
        random_state=SEED,
    )
    model.fit(x, y, sample_weight=weights)
    arrays = {f"weights{i}": one for i, one in enumerate(model.coefs_)}
    arrays |= {f"biases{i}": one for i, one in enumerate(model.intercepts_)}
    # a regressor's loss is half the squared error
    factor = 1 if kind is MLPClassifier else 2
    losses = [factor * float(one) for one in model.loss_curve_]
    return {**arrays, "layers": np.array([len(model.coefs_)])}, losses


def _boost(options: dict[str, Any], x: Any, y: Any, *, weights: Any) -> Fitted:
    import numpy as np
    from sklearn import ensemble

    classes = options["model_type"] in CLASSIFIERS
    kind: Any = (
        ensemble.HistGradientBoostingClassifier
        if classes
        else ensemble.HistGradientBoostingRegressor
    )
    model = kind(
        max_iter=options["max_iterations"],
        learning_rate=options["learn_rate"],
        max_depth=options["max_tree_depth"],
        max_leaf_nodes=None,
        l2_regularization=options["l2_reg"],
        early_stopping=False,
        random_state=SEED,
    )
    model.fit(x, y, sample_weight=weights)
    nodes = [one.nodes for iteration in model._predictors for one in iteration]
    trees = _join(
        [
            {
                "left": np.where(one["is_leaf"], -1, one["left"].astype(np.int64)),
                "right": one["right"].astype(np.int64),
                "feature": one["feature_idx"].astype(np.int64),
                "threshold": one["num_threshold"].astype(np.float64),
                "value": one["value"].reshape(-1, 1),
                "gain": one["gain"].astype(np.float64),
                "cover": one["count"].astype(np.float64),
            }
            for one in nodes
        ]
    )
    baseline = np.ravel(model._baseline_prediction).astype(np.float64)
    return trees | {"baseline": baseline}, []


def _forest(options: dict[str, Any], x: Any, y: Any, *, weights: Any) -> Fitted:
    from sklearn import ensemble

    classes = options["model_type"] in CLASSIFIERS
    kind: Any = ensemble.RandomForestClassifier if classes else ensemble.RandomForestRegressor
    model = kind(
        n_estimators=options["num_parallel_tree"],
        max_depth=options["max_tree_depth"],
        max_samples=options["subsample"],
        random_state=SEED,
    )
    model.fit(x, y, sample_weight=weights)
    return _join(
        [
            {
                "left": one.tree_.children_left,
                "right": one.tree_.children_right,
                "feature": one.tree_.feature,
                "threshold": one.tree_.threshold,
                "value": one.tree_.value[:, 0, :],
                "gain": _gains(one.tree_),
                "cover": one.tree_.weighted_n_node_samples,
            }
            for one in model.estimators_
        ]
    ), []


def _gains(tree: Any) -> Any:
    """Return by how much each split of a tree lowers the impurity of its rows."""
    impurity = tree.impurity * tree.weighted_n_node_samples
    left, right = impurity[tree.children_left], impurity[tree.children_right]
    return impurity - left - right  # of a leaf it means nothing


def _join(trees: list[Arrays]) -> Arrays:
    """Return all trees in one array per property; `roots`: where each begins."""
    import numpy as np

    sizes = [len(one["left"]) for one in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    for tree, root in zip(trees, roots, strict=True):
        leaf = tree["left"] < 0
        tree["left"] = np.where(leaf, -1, tree["left"] + root)
        tree["right"] = np.where(leaf, -1, tree["right"] + root)
    return {name: np.concatenate([one[name] for one in trees]) for name in trees[0]} | {
        "roots": roots
    }


def _kmeans(options: dict[str, Any], x: Any, y: Any, *, weights: Any) -> Fitted:
    import numpy as np
    from sklearn.cluster import KMeans

    model = KMeans(
        n_clusters=options["num_clusters"] or max(2, round(math.log10(max(len(x), 1)))),
        init="random" if options["kmeans_init_method"] == "RANDOM" else "k-means++",
        max_iter=options["max_iterations"],
        tol=1e-4 if options["early_stop"] else 0,
        random_state=SEED,
    )
    model.fit(x)
    arrays = {"centroids": model.cluster_centers_, "iterations": np.array([model.n_iter_])}
    distances = np.sqrt(((x - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1))
    counts = np.bincount(model.labels_, minlength=len(model.cluster_centers_))
    squares = np.bincount(model.labels_, distances**2, len(model.cluster_centers_))
    arrays |= {"sizes": counts, "radii": np.sqrt(squares / np.maximum(counts, 1))}
    return arrays, [float((distances**2).mean())]


def _pca(options: dict[str, Any], x: Any, y: Any, *, weights: Any) -> Fitted:
    from sklearn.decomposition import PCA

    wanted = options["num_principal_components"] or options["pca_explained_variance_ratio"]
    if isinstance(wanted, float) and wanted == 1:
        wanted = None  # all components
    model = PCA(wanted, svd_solver=options["pca_solver"].lower())
    model.fit(x)
    return {
        "components": model.components_,
        "center": model.mean_,
        "eigenvalues": model.explained_variance_,
        "ratios": model.explained_variance_ratio_,
    }, []


FAMILIES: list[tuple[set[str], Callable[..., Fitted]]] = [
    ({"LINEAR_REG"}, _linear),
    ({"LOGISTIC_REG"}, _logistic),
    (DNN, _network),
    (BOOSTED, _boost),
    (FOREST, _forest),
    ({"KMEANS"}, _kmeans),
    ({"PCA"}, _pca),
]
