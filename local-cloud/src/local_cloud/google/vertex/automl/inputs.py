"""From a training pipeline of AutoML to the arguments of the program that a job runs for it.

Sources: automl_tables.py among the SDK's schema.trainingjob.definition, and InputDataConfig in
types/training_pipeline.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.datasets.import_lists import USE
from local_cloud.google.vertex.resources.schema import require
from local_cloud.json_types import Json

DEFINITIONS = "gs://google-cloud-aiplatform/schema/trainingjob/definition/"
TABLES = f"{DEFINITIONS}automl_tabular_1.0.0.yaml"
PICTURES = f"{DEFINITIONS}automl_image_classification_1.0.0.yaml"
# A node hour of the service is so many seconds here; the service trains on pictures with 8 nodes.
SECONDS_PER_NODE_HOUR = {TABLES: 20.0, PICTURES: 2.5}
PATIENCE = 6  # candidates in a row that are not better end a search that may stop early
MOST_TRIALS = 200
# The milli node hours that the service takes.
BUDGETS = {TABLES: (1_000, 72_000), PICTURES: (8_000, 800_000)}
OBJECTIVES = {
    "classification": {
        "minimize-log-loss": "logLoss",
        "maximize-au-roc": "auRoc",
        "maximize-au-prc": "auPrc",
    },
    "regression": {
        "minimize-rmse": "rootMeanSquaredError",
        "minimize-mae": "meanAbsoluteError",
        "minimize-rmsle": "rootMeanSquaredLogError",
    },
}
KINDS = {"auto": "auto", "numeric": "numeric", "categorical": "category"}
# Fields of the inputs that change what is trained, and are not here.
REFUSED = {
    "weightColumnName": "a weight column",
    "exportEvaluatedDataItemsConfig": "the export of evaluated rows to BigQuery",
    "additionalExperiments": "additional experiments",
}
KNOWN = "AutoML of tables and image classification"
SPLITS = ("predefinedSplit", "timestampSplit")


def tables(inputs: Json, config: Json) -> list[str]:
    """Return the arguments of automl.train_tables, without its files; or raise an ApiError."""
    task, wanted = inputs.get("predictionType"), inputs.get("transformations") or []
    require(
        isinstance(task, str) and task in OBJECTIVES,
        f"predictionType: {task!r} is not classification or regression",
    )
    target = inputs.get("targetColumn")
    require(isinstance(target, str) and target, "targetColumn: required")
    for field, what in REFUSED.items():
        if inputs.get(field):
            raise _not_implemented(f"{what} ({field})")
    words = ["--target", str(target), "--task", str(task)]
    if objective := inputs.get("optimizationObjective"):
        known = OBJECTIVES[str(task)]
        if not isinstance(objective, str) or objective not in known:
            raise _not_implemented(f"{objective!r} for {task}; there are {', '.join(known)}")
        words += ["--objective", known[objective]]
    require(isinstance(wanted, list), f"transformations: {wanted!r} is not a list")
    kinds = dict(map(_transformation, wanted))
    require(kinds, "transformations: at least one column is needed")
    require(target not in kinds, f"transformations: {target!r} is the target")
    words += ["--kinds", json.dumps(kinds), "--only-kinds", *_split(config)]
    words += ["--seconds", f"{seconds(TABLES, inputs):g}", "--trials", str(MOST_TRIALS)]
    return words if inputs.get("disableEarlyStopping") else [*words, "--patience", str(PATIENCE)]


def pictures(inputs: Json, config: Json) -> list[str]:
    """Return the arguments of automl.train_images, without its list; or raise an ApiError."""
    kind = inputs.get("modelType") or "CLOUD"
    if kind != "CLOUD":
        raise _not_implemented(f"the modelType {kind!r} of pictures; there is 'CLOUD'")
    for field in ("baseModelId", "uptrainBaseModelId", "tunableParameter"):
        if inputs.get(field):
            raise _not_implemented(f"{field} of AutoML for pictures")
    words = ["--seconds", f"{seconds(PICTURES, inputs):g}"]
    words += ["--multi-label"] if inputs.get("multiLabel") else []
    words += ["--no-early-stopping"] if inputs.get("disableEarlyStopping") else []
    split(config, tables=False)
    if "fractionSplit" not in config:
        words += ["--own-split"]
    return [*words, "--fractions", *(f"{each:.6f}" for each in fractions(config))]


ARGUMENTS = {TABLES: tables, PICTURES: pictures}


def seconds(definition: str, inputs: Json) -> float:
    """Return how long a search may begin candidates."""
    field = "trainBudgetMilliNodeHours" if definition == TABLES else "budgetMilliNodeHours"
    low, high = BUDGETS[definition]
    try:
        budget = int(inputs.get(field) or low)
    except (TypeError, ValueError, OverflowError):
        budget = -1
    require(low <= budget <= high, f"{field}: {inputs.get(field)!r}; give {low} to {high}")
    return budget / 1000 * SECONDS_PER_NODE_HOUR[definition]


def fractions(config: Json) -> tuple[float, float, float]:
    """Return the parts to train, to validate and to test with; what is not given is shared out."""
    given = config.get("fractionSplit") or config.get("timestampSplit") or {}
    named = [float(given.get(f"{part}Fraction", 0)) for part in ("training", "validation", "test")]
    total = sum(named)
    require(
        all(each >= 0 for each in named) and total <= 1 + 1e-9,
        f"inputDataConfig: the fractions {named} are not parts of 1",
    )
    first, second, third = [
        own + (1 - total) * share for own, share in zip(named, USUAL, strict=True)
    ]
    return first, second, third


USUAL = (0.8, 0.1, 0.1)


def split(config: Json, *, tables: bool) -> None:
    """Refuse a split that is not here."""
    fractions(config)
    known = ("fractionSplit", *(SPLITS if tables else ("filterSplit",)))
    for field in config:
        if field.endswith("Split") and field not in known:
            raise _not_implemented(f"{field} of a {'table' if tables else 'set of pictures'}")
    for part, use in config.get("filterSplit", {}).items():
        wanted = f"labels.{USE}={part.removesuffix('Filter')}"
        if use.replace(" ", "").replace('"', "") != wanted:
            raise _not_implemented(f"{part} {use!r}; there is {wanted!r}")


def _split(config: Json) -> list[str]:
    split(config, tables=True)
    words = ["--fractions", *(f"{each:.6f}" for each in fractions(config))]
    if key := config.get("predefinedSplit", {}).get("key"):
        words += ["--split-column", key]
    if key := config.get("timestampSplit", {}).get("key"):
        words += ["--time-column", key]
    return words


def _transformation(given: Any) -> tuple[str, str]:
    """Return a column's name and its kind; the SDK writes column_name, the service columnName."""
    require(isinstance(given, Mapping) and len(given) == 1, f"transformations: {given!r}")
    ((kind, about),) = given.items()
    name = about.get("columnName") or about.get("column_name") if isinstance(about, Mapping) else ""
    require(isinstance(name, str) and name, f"transformations: {kind} has no columnName")
    if kind not in KINDS:
        raise _not_implemented(
            f"the transformation {kind} of column {name!r}; there are {[*KINDS]}"
        )
    return str(name), KINDS[kind]


def _not_implemented(what: str) -> ApiError:
    return ApiError("UNIMPLEMENTED", f"not implemented in the local cloud: {what}")
