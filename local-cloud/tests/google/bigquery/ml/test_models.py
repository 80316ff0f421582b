"""Models that SQL trains, compared with scikit-learn's on the same rows."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from google.api_core.exceptions import BadRequest
from google.cloud import bigquery
from sklearn import cluster, decomposition, ensemble, linear_model, metrics, neural_network

from tests.google.bigquery.support import Run

ROWS = 400
CLOSE: dict[str, Any] = {"abs": 1e-6, "rel": 1e-6}


def people() -> pd.DataFrame:
    """Two numbers, one with gaps, a word with gaps, and labels; `held`: not to be trained on."""
    random = np.random.default_rng(3)
    a, b = random.normal(size=ROWS) * 4 + 7, random.normal(size=ROWS)
    word = random.choice(["x", "y", "z"], ROWS)
    score = a - 7 + 2 * b + 3 * (word == "x") + random.normal(size=ROWS)
    return pd.DataFrame(
        {
            "id": range(ROWS),
            "a": np.where(random.random(ROWS) < 0.1, np.nan, a),
            "b": b,
            "word": np.where(random.random(ROWS) < 0.1, None, word),
            "yes": (score > 0).astype(int),
            "kind": np.select([score < -2, score < 2], ["low", "mid"], "high"),
            "score": score,
            "held": np.arange(ROWS) % 4 == 0,
        }
    )


FRAME = people()
FEATURES = ["a", "b", "word"]


@pytest.fixture(scope="module")
def table(client: bigquery.Client) -> str:
    """The people, in a dataset of this module's own."""
    client.delete_dataset("ml", delete_contents=True, not_found_ok=True)
    client.create_dataset("ml")
    file = io.BytesIO(FRAME.to_parquet())
    config = bigquery.LoadJobConfig(source_format="PARQUET")
    client.load_table_from_file(file, "ml.people", job_config=config).result()
    return "ml.people"


@pytest.fixture
def ask(client: bigquery.Client, table: str) -> Run:
    """Runs queries in the dataset `ml`."""
    return Run(client, "ml")


def train(ask: Run, columns: str = "a, b, word", **given: Any) -> None:
    """CREATE OR REPLACE MODEL m on the rows that are not held back."""
    options = {"data_split_method": "CUSTOM", "data_split_col": "held"} | given
    said = ", ".join(f"{name}={value!r}" for name, value in options.items())
    ask(f"CREATE OR REPLACE MODEL m OPTIONS({said}) AS SELECT {columns}, held FROM people")


def prepared(*, trees: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The features as documented, fitted on the rows that are not held; those and all rows."""
    trained = FRAME[~FRAME.held]
    parts = []
    for name in ("a", "b"):
        filled = FRAME[name].fillna(trained[name].mean())
        spread = trained[name].fillna(trained[name].mean()).std(ddof=0)
        parts.append(filled if trees else (filled - trained[name].mean()) / spread)
    words = FRAME.word.fillna("~")
    if trees:
        parts.append(words.map({"x": 0, "y": 1, "z": 2, "~": 3}))
    else:
        parts += [words == one for one in ("x", "y", "z", "~")]
    x = np.column_stack(parts).astype(float)
    return x[~FRAME.held], x


def trained(name: str) -> np.ndarray:
    return FRAME.loc[~FRAME.held, name].to_numpy()


def predicted(ask: Run) -> pd.DataFrame:
    """ML.PREDICT of all rows, in their order."""
    query = "SELECT * FROM ML.PREDICT(MODEL m, TABLE people) ORDER BY id"
    return pd.DataFrame([dict(row.items()) for row in ask.iterate(query)])


def probabilities(table: pd.DataFrame, label: str, classes: list[Any]) -> np.ndarray:
    """One column for each class."""
    rows = [{one["label"]: one["prob"] for one in row} for row in table[f"predicted_{label}_probs"]]
    return np.array([[row[one] for one in classes] for row in rows])


CLASSIFIERS = {
    "logistic_reg": (
        {"l2_reg": 1.0},
        lambda: linear_model.LogisticRegression(C=1.0, max_iter=20),
        False,
    ),
    "dnn_classifier": (
        {"hidden_units": [6, 3], "max_iterations": 15, "learn_rate": 0.01, "batch_size": 32},
        lambda: neural_network.MLPClassifier(
            [6, 3], max_iter=15, learning_rate_init=0.01, batch_size=32, alpha=0, random_state=0
        ),
        False,
    ),
    "boosted_tree_classifier": (
        {"max_iterations": 10, "early_stop": False},
        lambda: ensemble.HistGradientBoostingClassifier(
            max_iter=10,
            learning_rate=0.3,
            max_depth=6,
            max_leaf_nodes=None,
            l2_regularization=1,
            early_stopping=False,
        ),
        True,
    ),
    "random_forest_classifier": (
        {"num_parallel_tree": 10},
        lambda: ensemble.RandomForestClassifier(10, max_depth=15, max_samples=0.8, random_state=0),
        True,
    ),
}


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.filterwarnings("ignore:lbfgs failed")
@pytest.mark.parametrize("label", ["yes", "kind"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classifiers_equal_scikit_learns(ask: Run, kind: str, label: str) -> None:
    given, make, trees = CLASSIFIERS[kind]
    train(ask, f"a, b, word, {label}", model_type=kind, input_label_cols=[label], **given)
    x, everything = prepared(trees=trees)
    model = make().fit(x, trained(label))
    classes = list(model.classes_)
    wanted = model.predict_proba(everything)

    table = predicted(ask)
    assert probabilities(table, label, classes) == pytest.approx(wanted, **CLOSE)
    assert table[f"predicted_{label}"].tolist() == model.predict(everything).tolist()

    (row,) = ask.iterate("SELECT * FROM ML.EVALUATE(MODEL m)")
    held, truth = wanted[FRAME.held], FRAME.loc[FRAME.held, label]
    guess = model.classes_[held.argmax(axis=1)]
    how = {} if len(classes) == 2 else {"average": "macro"}
    assert dict(row.items()) == pytest.approx(
        {
            "precision": metrics.precision_score(truth, guess, **how),
            "recall": metrics.recall_score(truth, guess, **how),
            "accuracy": metrics.accuracy_score(truth, guess),
            "f1_score": metrics.f1_score(truth, guess, **how),
            "log_loss": metrics.log_loss(truth, held, labels=classes),
            "roc_auc": metrics.roc_auc_score(truth, held[:, 1])
            if len(classes) == 2
            else metrics.roc_auc_score(truth, held, multi_class="ovr"),
        },
        **CLOSE,
    )
    again = ask.iterate("SELECT * FROM ML.EVALUATE(MODEL m, (SELECT * FROM people WHERE held))")
    assert dict(next(iter(again)).items()) == pytest.approx(dict(row.items()), **CLOSE)


REGRESSORS = {
    "linear_reg": ({}, linear_model.LinearRegression, False),
    "dnn_regressor": (
        {"hidden_units": [5], "max_iterations": 15, "activation_fn": "tanh"},
        lambda: neural_network.MLPRegressor(
            hidden_layer_sizes=[5],
            activation="tanh",
            max_iter=15,
            batch_size=300,
            alpha=0,
            random_state=0,
        ),
        False,
    ),
    "boosted_tree_regressor": (
        {"max_iterations": 10, "early_stop": False, "l2_reg": 0.5},
        lambda: ensemble.HistGradientBoostingRegressor(
            max_iter=10,
            learning_rate=0.3,
            max_depth=6,
            max_leaf_nodes=None,
            l2_regularization=0.5,
            early_stopping=False,
        ),
        True,
    ),
    "random_forest_regressor": (
        {"num_parallel_tree": 10},
        lambda: ensemble.RandomForestRegressor(10, max_depth=15, max_samples=0.8, random_state=0),
        True,
    ),
}


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("kind", REGRESSORS)
def test_regressors_equal_scikit_learns(ask: Run, kind: str) -> None:
    given, make, trees = REGRESSORS[kind]
    train(ask, "a, b, word, score", model_type=kind, input_label_cols=["score"], **given)
    x, everything = prepared(trees=trees)
    wanted = make().fit(x, trained("score")).predict(everything)
    assert predicted(ask).predicted_score.to_numpy() == pytest.approx(wanted, **CLOSE)
    (row,) = ask.iterate("SELECT * FROM ML.EVALUATE(MODEL m)")
    truth, guess = FRAME.loc[FRAME.held, "score"], wanted[FRAME.held]
    assert row.mean_squared_error == pytest.approx(metrics.mean_squared_error(truth, guess))
    assert row.mean_absolute_error == pytest.approx(metrics.mean_absolute_error(truth, guess))
    assert row.median_absolute_error == pytest.approx(metrics.median_absolute_error(truth, guess))
    assert row.r2_score == pytest.approx(metrics.r2_score(truth, guess))
    assert row.explained_variance == pytest.approx(metrics.explained_variance_score(truth, guess))


def test_penalties_are_ridge_and_elastic_net(ask: Run) -> None:
    x, everything = prepared()
    for given, model in (
        ({"l2_reg": 3.0}, linear_model.Ridge(3.0)),
        ({"l1_reg": 30.0}, linear_model.ElasticNet(30 / len(x), l1_ratio=1)),
    ):
        columns = "a, b, word, score"
        train(ask, columns, model_type="linear_reg", input_label_cols=["score"], **given)
        wanted = model.fit(x, trained("score")).predict(everything)
        assert predicted(ask).predicted_score.to_numpy() == pytest.approx(wanted, **CLOSE)


@pytest.mark.filterwarnings("ignore:lbfgs failed")
def test_classes_count_as_their_weights_say(ask: Run) -> None:
    x, everything = prepared()
    for option, weight in (
        ("auto_class_weights=TRUE", "balanced"),
        ("class_weights=[STRUCT('low', 2.5), ('high', 0.5)]", {"low": 2.5, "high": 0.5}),
    ):
        ask(
            "CREATE OR REPLACE MODEL m OPTIONS(model_type='logistic_reg', l2_reg=1,"
            f" input_label_cols=['kind'], data_split_method='NO_SPLIT', {option}) AS"
            " SELECT a, b, word, kind FROM people WHERE NOT held"
        )
        model = linear_model.LogisticRegression(max_iter=20, class_weight=weight)
        model.fit(x, trained("kind"))
        scores = probabilities(predicted(ask), "kind", list(model.classes_))
        assert scores == pytest.approx(model.predict_proba(everything), **CLOSE)


def test_a_moment_is_its_seconds_and_its_parts(ask: Run) -> None:
    """What depends on the day of the week is learned from the date alone."""
    ask(
        "CREATE OR REPLACE MODEL m OPTIONS(model_type='linear_reg', input_label_cols=['y'],"
        " data_split_method='NO_SPLIT', l2_reg=0.000001) AS SELECT day,"
        " IF(EXTRACT(DAYOFWEEK FROM day) = 1, 5, 0) + DATE_DIFF(day, DATE '2024-01-01', DAY) AS y"
        " FROM UNNEST(GENERATE_DATE_ARRAY('2024-01-01', '2024-12-31')) AS day"
    )
    sunday, monday = (
        ask(f"SELECT predicted_y FROM ML.PREDICT(MODEL m, (SELECT DATE '{day}' AS day))")[0][0]
        for day in ("2024-05-05", "2024-05-06")
    )
    assert sunday - monday == pytest.approx(4, abs=0.1)


def all_prepared() -> np.ndarray:
    """a and b of all rows, standardised."""
    filled = FRAME[["a", "b"]].fillna(FRAME[["a", "b"]].mean())
    made: np.ndarray = ((filled - filled.mean()) / filled.std(ddof=0)).to_numpy()
    return made


def test_kmeans_equals_scikit_learns(ask: Run) -> None:
    ask(
        "CREATE OR REPLACE MODEL m OPTIONS(model_type='kmeans', num_clusters=3) AS"
        " SELECT a, b FROM people"
    )
    x = all_prepared()
    model = cluster.KMeans(3, init="random", max_iter=20, random_state=0).fit(x)
    table = predicted(ask)
    assert (table.CENTROID_ID - 1).tolist() == model.labels_.tolist()
    nearest = [row[0]["DISTANCE"] for row in table.NEAREST_CENTROIDS_DISTANCE]
    assert nearest == pytest.approx(model.transform(x).min(axis=1), **CLOSE)
    (row,) = ask.iterate("SELECT * FROM ML.EVALUATE(MODEL m)")
    assert row.davies_bouldin_index == pytest.approx(metrics.davies_bouldin_score(x, model.labels_))
    assert row.mean_squared_distance == pytest.approx(model.inertia_ / ROWS)
    rows = ask("SELECT numerical_value FROM ML.CENTROIDS(MODEL m) WHERE feature = 'b'")
    values = model.cluster_centers_[:, 1] * FRAME.b.std(ddof=0) + FRAME.b.mean()
    assert sorted(value for (value,) in rows) == pytest.approx(sorted(values))


def test_pca_equals_scikit_learns(ask: Run) -> None:
    ask(
        "CREATE OR REPLACE MODEL m OPTIONS(model_type='pca', num_principal_components=2) AS"
        " SELECT a, b FROM people"
    )
    x = all_prepared()
    model = decomposition.PCA(2).fit(x)
    components = predicted(ask)[["principal_component_1", "principal_component_2"]].to_numpy()
    assert np.abs(components) == pytest.approx(np.abs(model.transform(x)), **CLOSE)
    rows = ask("SELECT * FROM ML.PRINCIPAL_COMPONENT_INFO(MODEL m) ORDER BY 1")
    assert [row[1] for row in rows] == pytest.approx(model.explained_variance_)
    assert [row[2] for row in rows] == pytest.approx(model.explained_variance_ratio_)
    assert ask("SELECT * FROM ML.EVALUATE(MODEL m)")[0][0] == pytest.approx(1)
    parts = ask("SELECT * FROM ML.PRINCIPAL_COMPONENTS(MODEL m)")
    assert [row[:2] for row in parts] == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


def test_a_model_is_registered_on_vertex_ai_and_gets_versions(ask: Run) -> None:
    from google.cloud import aiplatform

    options = "model_type='linear_reg', model_registry='vertex_ai', vertex_ai_model_id='fares'"
    for _ in range(2):
        ask(
            f"CREATE OR REPLACE MODEL registered OPTIONS({options}, input_label_cols=['score']) AS"
            " SELECT a, b, score FROM people"
        )
    aiplatform.init(project="bigquery-tests", location="us-central1")
    registered = aiplatform.Model("fares")
    assert (registered.display_name, registered.version_id) == ("registered", "1")
    assert registered.gca_resource.model_source_info.source_type.name == "BQML"
    assert len(registered.versioning_registry.list_versions()) == 2
    with pytest.raises(BadRequest, match="no serving container"):
        registered.deploy(machine_type="n1-standard-2")
    aiplatform.Endpoint.list()[0].delete()
    registered.delete()
