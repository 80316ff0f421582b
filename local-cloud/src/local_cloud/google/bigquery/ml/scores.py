"""What a trained model says of prepared rows: arithmetic on its arrays, without scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.ml.options import BOOSTED, CLASSIFIERS, DNN, FOREST, LINEAR

if TYPE_CHECKING:
    import numpy as np

    from local_cloud.google.bigquery.ml.estimators import Arrays


def score(options: dict[str, Any], arrays: Arrays, x: np.ndarray) -> np.ndarray:
    """Return probabilities (rows, classes), values (rows,), distances or components (rows, k)."""
    kind = options["model_type"]
    if kind == "KMEANS":
        return distances(arrays["centroids"], x)
    if kind == "PCA":
        components: np.ndarray = (x - arrays["center"]) @ arrays["components"].T
        return components
    raw = raw_scores(options, arrays, x)
    if kind in FOREST:
        return raw if kind in CLASSIFIERS else raw[:, 0]
    return probabilities(raw) if kind in CLASSIFIERS else raw[:, 0]


def raw_scores(options: dict[str, Any], arrays: Arrays, x: np.ndarray) -> np.ndarray:
    """Return what comes before the sigmoid or the softmax: one column, or one for each class."""
    kind = options["model_type"]
    if kind in LINEAR:
        made: np.ndarray = x @ arrays["coefficients"].T + arrays["intercept"]
        return made
    if kind in DNN:
        return _network(options["activation_fn"], arrays, x)
    if kind in BOOSTED:
        return sum_trees(arrays, x)
    return _forest(arrays, x)


def probabilities(raw: np.ndarray) -> np.ndarray:
    """Return one column per class, each row adding up to 1."""
    import numpy as np

    if raw.shape[1] == 1:
        with np.errstate(over="ignore"):
            positive = 1 / (1 + np.exp(-raw[:, 0]))
        return np.column_stack([1 - positive, positive])
    powers = np.exp(raw - raw.max(axis=1, keepdims=True))
    made: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
    return made


def _network(activation: str, arrays: Arrays, x: np.ndarray) -> np.ndarray:
    import numpy as np

    layers = int(arrays["layers"][0])
    for i in range(layers):
        x = x @ arrays[f"weights{i}"] + arrays[f"biases{i}"]
        if i == layers - 1:
            break
        if activation == "RELU":
            x = np.maximum(x, 0)
        elif activation == "TANH":
            x = np.tanh(x)
        else:
            x = probabilities(x.reshape(-1, 1))[:, 1].reshape(x.shape)
    return x


def sum_trees(arrays: Arrays, x: np.ndarray, iterations: int | None = None) -> np.ndarray:
    """Return the sum of the trees of all iterations, or of the first ones."""
    import numpy as np

    classes = len(arrays["baseline"])
    raw = np.tile(arrays["baseline"], (len(x), 1))
    roots = arrays["roots"] if iterations is None else arrays["roots"][: iterations * classes]
    for number, root in enumerate(roots):
        raw[:, number % classes] += arrays["value"][_leaves(arrays, int(root), x), 0]
    return raw


def _forest(arrays: Arrays, x: np.ndarray) -> np.ndarray:
    """Return the mean of all trees, which were trained on values in single precision."""
    import numpy as np

    x = x.astype(np.float32)
    total = np.zeros((len(x), arrays["value"].shape[1]))
    for root in arrays["roots"]:
        total += arrays["value"][_leaves(arrays, int(root), x)]
    made: np.ndarray = total / len(arrays["roots"])
    return made


def _leaves(arrays: Arrays, root: int, x: np.ndarray) -> np.ndarray:
    """Return the leaf in which each row ends, one level of the tree after the other."""
    import numpy as np

    at = np.full(len(x), root)
    rows = np.arange(len(x))
    while len(rows):
        rows = rows[arrays["left"][at[rows]] >= 0]
        nodes = at[rows]
        low = x[rows, arrays["feature"][nodes]] <= arrays["threshold"][nodes]
        at[rows] = np.where(low, arrays["left"][nodes], arrays["right"][nodes])
    return at


def distances(centroids: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the Euclidean distances from each row to each centroid."""
    import numpy as np

    return np.column_stack([np.sqrt(((x - one) ** 2).sum(axis=1)) for one in centroids])
