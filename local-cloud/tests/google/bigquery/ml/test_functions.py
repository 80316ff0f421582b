"""ML's functions, the statements about models, and models as resources."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest
from google.api_core.exceptions import (
    BadRequest,
    Conflict,
    GoogleAPICallError,
    MethodNotImplemented,
    NotFound,
)
from google.cloud import bigquery, storage

from tests.google.bigquery.support import Run

MISSING = MethodNotImplemented

# a number, a word and a label, of which the first two say something
ROWS = """
CREATE OR REPLACE TABLE rides AS
SELECT n AS id, MOD(n * 37, 101) / 10 AS miles,
  CASE MOD(n, 3) WHEN 0 THEN 'cash' WHEN 1 THEN 'card' END AS paid,
  MOD(n * 37, 101) + 40 * CAST(MOD(n, 3) = 0 AS INT64) > 60 AS tipped
FROM UNNEST(GENERATE_ARRAY(1, 300)) AS n
"""
TIPS = """
CREATE OR REPLACE MODEL tips OPTIONS(model_type='logistic_reg', input_label_cols=['tipped'],
  l2_reg=1.0, max_iterations=50) AS SELECT miles, paid, tipped FROM rides
"""


@pytest.fixture(scope="module")
def ask(client: bigquery.Client) -> Run:
    """Runs queries in a dataset with rides and the model `tips`."""
    client.delete_dataset("ride_models", delete_contents=True, not_found_ok=True)
    client.create_dataset("ride_models")
    run = Run(client, "ride_models")
    run(ROWS)
    run(TIPS)
    return run


def rows(ask: Run, query: str) -> list[dict[str, Any]]:
    return [dict(row.items()) for row in ask.iterate(query)]


def test_weights_are_in_the_columns_own_units(ask: Run) -> None:
    """Σ weight x value + intercept is the logit that ML.EXPLAIN_PREDICT tells."""
    weights = {
        row["processed_input"]: row for row in rows(ask, "SELECT * FROM ML.WEIGHTS(MODEL tips)")
    }
    assert list(weights) == ["miles", "paid", "__INTERCEPT__"]
    words = {one["category"]: one["weight"] for one in weights["paid"]["category_weights"]}
    assert sorted(words) == ["_null_filler", "card", "cash"]
    explained = rows(
        ask,
        "SELECT * FROM ML.EXPLAIN_PREDICT(MODEL tips, TABLE rides, STRUCT(1 AS top_k_features))"
        " ORDER BY id LIMIT 9",
    )
    for row in explained:
        logit = weights["__INTERCEPT__"]["weight"] + weights["miles"]["weight"] * row["miles"]
        logit += words[row["paid"] or "_null_filler"]
        assert row["prediction_value"] == pytest.approx(logit)
        chance = 1 / (1 + np.exp(-logit))
        assert row["probability"] == pytest.approx(max(chance, 1 - chance))
        assert len(row["top_feature_attributions"]) == 1
    both = rows(ask, "SELECT * FROM ML.EXPLAIN_PREDICT(MODEL tips, TABLE rides) LIMIT 5")
    for row in both:
        added = sum(one["attribution"] for one in row["top_feature_attributions"])
        assert row["baseline_prediction_value"] + added == pytest.approx(row["prediction_value"])


def test_a_global_explanation_is_the_mean_of_the_rows_explanations(ask: Run) -> None:
    """The service aggregates what ML.EXPLAIN_PREDICT tells of the rows that it evaluates on."""
    ask(
        TIPS.replace("MODEL tips", "MODEL explained").replace(
            "l2_reg", "enable_global_explain=TRUE, l2_reg"
        )
    )
    explained = ask("SELECT * FROM ML.GLOBAL_EXPLAIN(MODEL explained)")
    expected = ask(
        "SELECT a.feature, AVG(ABS(a.attribution)) AS mean FROM"
        " ML.EXPLAIN_PREDICT(MODEL explained, TABLE rides), UNNEST(top_feature_attributions) AS a"
        " GROUP BY a.feature ORDER BY mean DESC"
    )
    assert [name for name, _ in explained] == [name for name, _ in expected]
    for (_, one), (_, other) in zip(explained, expected, strict=True):
        assert one == pytest.approx(other)
    with pytest.raises(BadRequest, match="enable_global_explain=TRUE"):
        ask("SELECT * FROM ML.GLOBAL_EXPLAIN(MODEL tips)")
    with pytest.raises(MethodNotImplemented, match="class_level_explain"):
        ask("SELECT * FROM ML.GLOBAL_EXPLAIN(MODEL explained, STRUCT(TRUE AS class_level_explain))")


@pytest.mark.parametrize("kind", ["boosted_tree_regressor", "random_forest_classifier"])
def test_a_column_that_decides_all_is_important(ask: Run, kind: str) -> None:
    ask(
        f"CREATE OR REPLACE MODEL trees OPTIONS(model_type='{kind}', input_label_cols=['y']) AS"
        " SELECT IF(n > 200, 1, 0) AS y, n, 7 AS same FROM UNNEST(GENERATE_ARRAY(1, 400)) AS n"
    )
    importances = rows(ask, "SELECT * FROM ML.FEATURE_IMPORTANCE(MODEL trees)")
    assert [row["feature"] for row in importances] == ["n", "same"]
    decides, same = importances
    assert decides["importance_weight"] > 0 and decides["importance_gain"] > 0
    assert 0 < decides["importance_cover"] <= 400
    assert [same[f"importance_{word}"] for word in ("weight", "gain", "cover")] == [0, 0, 0]
    with pytest.raises(BadRequest, match="not supported for models of type LOGISTIC_REG"):
        ask("SELECT * FROM ML.FEATURE_IMPORTANCE(MODEL tips)")


def test_a_threshold_moves_the_prediction_and_the_matrix(ask: Run) -> None:
    def tipped(threshold: float) -> int:
        query = (
            "SELECT COUNTIF(predicted_tipped) FROM ML.PREDICT(MODEL `tips`, TABLE rides,"
            f" STRUCT({threshold} AS threshold))"
        )
        return int(ask(query)[0][0])

    assert tipped(0.0) == 300 > tipped(0.5) > tipped(0.9)
    (no, yes) = rows(
        ask, "SELECT * FROM ML.CONFUSION_MATRIX(MODEL tips, TABLE rides, STRUCT(0.9 AS threshold))"
    )
    assert list(no) == ["expected_label", "FALSE", "TRUE"]
    assert no["TRUE"] + yes["TRUE"] == tipped(0.9)
    curve = rows(
        ask,
        "SELECT * FROM ML.ROC_CURVE(MODEL tips, TABLE rides, GENERATE_ARRAY(0.1, 0.9, 0.4))"
        " ORDER BY threshold",
    )
    assert [round(row["threshold"], 6) for row in curve] == [0.1, 0.5, 0.9]
    assert curve[2]["true_positives"] == yes["TRUE"]
    assert curve[2]["false_positives"] == no["TRUE"]
    assert curve[2]["recall"] == yes["TRUE"] / (yes["TRUE"] + yes["FALSE"])
    assert len(rows(ask, "SELECT * FROM ML.ROC_CURVE(MODEL tips)")) > 50


def test_functions_stand_wherever_a_table_does(ask: Run) -> None:
    """In a join, in WITH and with its tables, in another function's query, in CREATE TABLE."""
    assert ask(
        "WITH far AS (SELECT * FROM rides WHERE miles > 9), seen AS ("
        " SELECT predicted_tipped AS guess, p.* FROM ML.PREDICT(MODEL tips, TABLE far) AS p)"
        " SELECT COUNT(*), MIN(s.miles) > 9, LOGICAL_AND(r.id = s.id)"
        " FROM seen AS s JOIN rides AS r USING (id)"
        " JOIN ML.TRAINING_INFO(MODEL tips) AS t ON t.training_run = 0"
    ) == [(ask("SELECT COUNT(*) FROM rides WHERE miles > 9")[0][0], True, True)]
    assert ask(
        "SELECT e.accuracy = (SELECT AVG(CAST(predicted_tipped = tipped AS INT64))"
        " FROM ML.PREDICT(MODEL tips, TABLE rides))"
        " FROM ML.EVALUATE(MODEL tips, (SELECT * EXCEPT (predicted_tipped, predicted_tipped_probs)"
        " FROM ML.PREDICT(MODEL tips, TABLE rides))) AS e"
    ) == [(True,)]
    ask("CREATE OR REPLACE TABLE scored AS SELECT * FROM ML.PREDICT(MODEL tips, TABLE rides)")
    assert ask("SELECT COUNT(*), COUNT(predicted_tipped) FROM scored") == [(300, 300)]
    ask("INSERT INTO scored SELECT * FROM ML.PREDICT(MODEL tips, TABLE rides)")
    assert ask("SELECT COUNT(*) FROM scored") == [(600,)]
    ask("CREATE OR REPLACE VIEW live AS SELECT * FROM ML.PREDICT(MODEL tips, TABLE rides)")
    assert ask("SELECT COUNT(*) FROM live") == [(300,)]
    chance = (
        "SELECT probs.prob FROM ML.PREDICT(MODEL tips, (SELECT 10.0 AS miles, 'cash' AS paid)),"
        " UNNEST(predicted_tipped_probs) AS probs WHERE probs.label"
    )
    assert ask(chance)[0][0] > 0.9


def test_what_training_tells_of_itself(ask: Run) -> None:
    (info,) = rows(ask, "SELECT * FROM ML.TRAINING_INFO(MODEL tips)")
    assert info["loss"] > 0
    assert info["eval_loss"] is None, "300 rows are not split"
    miles, paid = rows(ask, "SELECT * FROM ML.FEATURE_INFO(MODEL tips)")
    (wanted,) = ask("SELECT MIN(miles), AVG(miles), STDDEV(miles) FROM rides")
    assert (miles["min"], miles["mean"], miles["stddev"]) == pytest.approx(wanted)
    assert (paid["category_count"], paid["null_count"]) == (2, 100)
    ask(
        "CREATE OR REPLACE MODEL trees OPTIONS(model_type='boosted_tree_classifier',"
        " input_label_cols=['tipped'], data_split_method='random') AS SELECT * FROM rides"
    )
    iterations = rows(ask, "SELECT * FROM ML.TRAINING_INFO(MODEL trees) ORDER BY iteration")
    assert [row["iteration"] for row in iterations] == list(range(len(iterations)))
    losses = [row["eval_loss"] for row in iterations]
    assert losses == sorted(losses, reverse=True), "it stops before the loss grows"


def test_a_model_is_a_resource(ask: Run) -> None:
    client = ask.client
    ask(
        "CREATE OR REPLACE MODEL kept OPTIONS(model_type='pca', num_principal_components=1) AS"
        " SELECT miles, id FROM rides"
    )
    model = client.get_model("ride_models.tips")
    assert model.model_type == "LOGISTIC_REGRESSION"
    assert [one.name for one in model.feature_columns] == ["miles", "paid"]
    assert [one.name for one in model.label_columns] == ["predicted_tipped"]
    run = model.training_runs[0]
    assert run["trainingOptions"]["l2Regularization"] == 1
    assert "binaryClassificationMetrics" in run["evaluationMetrics"]
    model.description, model.labels = "who tips", {"team": "rides"}
    assert client.update_model(model, ["description", "labels"]).description == "who tips"
    names = [one.model_id for one in client.list_models("ride_models")]
    assert {"kept", "tips"} <= set(names)
    assert "kept" not in [one.table_id for one in client.list_tables("ride_models")]
    client.delete_model("ride_models.kept")
    with pytest.raises(NotFound, match=r"Not found: Model bigquery-tests:ride_models\.kept"):
        client.get_model("ride_models.kept")
    client.delete_model("ride_models.kept", not_found_ok=True)


def test_create_and_drop_say_what_is_there(ask: Run) -> None:
    with pytest.raises(Conflict, match="Already Exists: Model"):
        ask(TIPS.replace(" OR REPLACE", ""))
    before = ask.client.get_model("ride_models.tips").modified
    ask(TIPS.replace("OR REPLACE MODEL", "MODEL IF NOT EXISTS"))
    assert ask.client.get_model("ride_models.tips").modified == before
    with pytest.raises(Conflict, match="Already Exists: Table"):
        ask(TIPS.replace("MODEL tips", "MODEL rides"))
    for call in (ask.client.get_table, ask.client.delete_table):
        with pytest.raises(NotFound, match="Not found: Table"):
            call("ride_models.tips")
    with pytest.raises(BadRequest, match="is a MODEL"):
        ask("DROP TABLE tips")
    with pytest.raises(NotFound, match="Not found: Model"):
        ask("DROP MODEL missing")
    ask("DROP MODEL IF EXISTS missing")
    ask(TIPS.replace("MODEL tips", "MODEL brief"))
    ask("DROP MODEL brief")
    with pytest.raises(NotFound, match="Not found: Model"):
        ask("SELECT * FROM ML.WEIGHTS(MODEL brief)")


def test_export_writes_numbers_and_no_pickle(ask: Run, tmp_path: Any) -> None:
    bucket = storage.Client(project="bigquery-tests").create_bucket("bigquery-ml-export")
    ask("EXPORT MODEL tips OPTIONS(URI='gs://bigquery-ml-export/models/tips/')")
    document = json.loads(bucket.blob("models/tips/model.json").download_as_bytes())
    assert document["options"]["model_type"] == "LOGISTIC_REG"
    bucket.blob("models/tips/arrays.npz").download_to_filename(str(tmp_path / "arrays.npz"))
    with np.load(tmp_path / "arrays.npz", allow_pickle=False) as arrays:
        assert arrays["coefficients"].shape == (1, 4)
    with pytest.raises(GoogleAPICallError, match="bigquery-ml-no-such"):
        ask("EXPORT MODEL tips OPTIONS(URI='gs://bigquery-ml-no-such/x')")


def test_a_dry_run_trains_nothing_and_tells_the_schema(ask: Run) -> None:
    config = bigquery.QueryJobConfig(dry_run=True, default_dataset="bigquery-tests.ride_models")
    job = ask.client.query("SELECT * FROM ML.PREDICT(MODEL tips, TABLE rides)", job_config=config)
    assert [one.name for one in job.schema][:2] == ["predicted_tipped", "predicted_tipped_probs"]
    ask.client.query(TIPS.replace("MODEL tips", "MODEL never"), job_config=config)
    with pytest.raises(NotFound):
        ask.client.get_model("ride_models.never")


LOGISTIC = "CREATE MODEL bad OPTIONS(model_type='logistic_reg'{}) AS SELECT {} FROM rides"
PREDICT = "SELECT * FROM ML.PREDICT(MODEL tips, {})"
CREATE = "CREATE MODEL {} OPTIONS(model_type='{}') AS SELECT 1 AS a"
SCALED = """CREATE MODEL t TRANSFORM(ML.MIN_MAX_SCALER(miles) OVER () AS m, tipped)
OPTIONS(model_type='logistic_reg') AS SELECT miles, tipped FROM rides"""
REMOTE = "CREATE MODEL m INPUT (a INT64) OUTPUT (b INT64) REMOTE WITH CONNECTION `c`"


@pytest.mark.parametrize(
    ("query", "error", "said"),
    [
        (LOGISTIC.format("", "miles"), BadRequest, "no column label"),
        (LOGISTIC.format(", input_label_cols=['t']", "miles, 1 AS t"), BadRequest, "two values"),
        (LOGISTIC.format("", "miles, CAST(NULL AS STRING) AS label"), BadRequest, "no row with"),
        (LOGISTIC.format("", "[1] AS a, tipped AS label"), MISSING, "column a"),
        (LOGISTIC.format("", "nothing AS label, miles"), BadRequest, "nothing"),
        (LOGISTIC.format(", l2_reg='x'", "miles, tipped AS label"), BadRequest, "l2_reg"),
        (LOGISTIC.format(", l2_reg=miles", "miles, tipped AS label"), BadRequest, "constant"),
        (LOGISTIC.format(", l2_reg=1, l2_reg=2", "tipped AS label, id"), BadRequest, "Duplicate"),
        (
            LOGISTIC.format(
                ", model_registry='vertex_ai', vertex_ai_model_id='A b'", "miles, tipped AS label"
            ),
            BadRequest,
            "The model registry refuses 'A b'",
        ),
        (SCALED, MISSING, "TRANSFORM"),
        (CREATE.format("m", "arima_plus"), MISSING, "ARIMA"),
        (REMOTE, MISSING, "the clause INPUT"),
        (CREATE.format("`../../x`", "pca"), BadRequest, r"\w"),
        (CREATE.format("`a'; DROP TABLE rides`", "pca"), BadRequest, "model ID"),
        ("SELECT * FROM ML.PREDICT(MODEL rides, TABLE rides)", NotFound, "Not found: Model"),
        ("SELECT * FROM ML.PREDICT(MODEL `../tips`, TABLE rides)", BadRequest, r"\w"),
        ("SELECT * FROM tips", BadRequest, "is not a table"),
        ("SELECT ML.WEIGHTS(MODEL tips)", BadRequest, "after FROM"),
        ("SELECT * FROM ML.PREDICT(MODEL tips)", BadRequest, "needs a table"),
        ("SELECT * FROM ML.WEIGHTS(MODEL tips, TABLE rides)", BadRequest, "no table"),
        ("SELECT * FROM ML.CENTROIDS(MODEL tips)", BadRequest, "not supported"),
        ("SELECT * FROM ML.ADVANCED_WEIGHTS(MODEL tips)", MISSING, "ADVANCED_WEIGHTS"),
        (PREDICT.format("(SELECT 1 AS id)"), BadRequest, "Column miles is missing"),
        (PREDICT.format("(SELECT 'x' AS miles, 'y' AS paid)"), BadRequest, "miles"),
        (PREDICT.format("(SELECT 1 AS miles, 2 AS paid)"), BadRequest, "paid"),
        (PREDICT.format("TABLE rides, STRUCT(2 AS threshold)"), BadRequest, "0 to 1"),
        (PREDICT.format("TABLE rides, STRUCT(2 AS trial_id)"), MISSING, "trial_id"),
        (PREDICT.format("(SELECT * FROM read_csv('/etc/passwd'))"), GoogleAPICallError, r"\w"),
        ("SELECT * FROM ML.EVALUATE(MODEL tips, (SELECT id FROM rides))", BadRequest, "missing"),
    ],
)
def test_mistakes_and_hostile_names_are_refused(
    ask: Run, query: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        ask(query)
    assert ask("SELECT COUNT(*) FROM rides") == [(300,)]


def test_a_cancelled_training_ends_and_leaves_no_model(ask: Run) -> None:
    config = bigquery.QueryJobConfig(default_dataset="bigquery-tests.ride_models")
    job = ask.client.query(
        "CREATE MODEL endless OPTIONS(model_type='dnn_classifier', hidden_units=[4096, 4096],"
        " max_iterations=10000, early_stop=FALSE, input_label_cols=['tipped']) AS"
        " SELECT * FROM rides",
        job_config=config,
    )
    while ask.client.get_job(job.job_id).state != "RUNNING":
        time.sleep(0.02)
    assert job.cancel()
    with pytest.raises(GoogleAPICallError, match="cancelled"):
        job.result()
    with pytest.raises(NotFound):
        ask.client.get_model("ride_models.endless")
    ask(TIPS)  # the next one is trained by another process
