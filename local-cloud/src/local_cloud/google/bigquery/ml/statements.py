"""CREATE MODEL, DROP MODEL and EXPORT MODEL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlglot import exp

from local_cloud.errors import LocalCloudError
from local_cloud.google.bigquery.api.errors import (
    Problem,
    duplicate,
    invalid_query,
    not_implemented,
)
from local_cloud.google.bigquery.catalog.catalog import Catalog, Document, Name, now
from local_cloud.google.bigquery.ml import options
from local_cloud.google.bigquery.ml.model import Model
from local_cloud.google.bigquery.ml.store import Models
from local_cloud.http.whole_numbers import whole

Register = Callable[[str, str, str], None]  # service.Platform.registries
Registries = Mapping[str, Register]
KIND = "MODEL"  # the `type` of a model's document in the catalog
NAMES = {"LINEAR_REG": "LINEAR_REGRESSION", "LOGISTIC_REG": "LOGISTIC_REGRESSION"}


def read_options(nodes: list[Any]) -> dict[str, Any]:
    """Return the options that a statement names. Raises Problem."""
    options: dict[str, Any] = {}
    for node in nodes:
        if type(node) is not exp.Property:
            raise not_implemented(f"the clause {type(node).__name__} of CREATE MODEL")
        name = node.name.lower()
        if name in options:
            raise invalid_query(f"Duplicate option {name}.")
        options[name] = value(node.args.get("value"), name)
    return options


def value(node: Any, name: str) -> Any:
    """Return a constant as Python has it; STRUCT is a tuple. Raises Problem for anything else."""
    if isinstance(node, exp.Literal):
        text = str(node.this)
        if node.is_string:
            return text
        number = whole(text)
        return float(text) if number is None else number
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Neg):
        number = value(node.this, name)
        if type(number) in (int, float):
            return -number
    if isinstance(node, exp.Array):
        return [value(one, name) for one in node.expressions]
    if isinstance(node, (exp.Struct, exp.Tuple)):
        return tuple(value(one, name) for one in node.expressions)
    if isinstance(node, (exp.Paren, exp.Alias, exp.PropertyEQ, exp.Cast)):
        inner = node.expression if isinstance(node, exp.PropertyEQ) else node.this
        return value(inner, name)
    raise invalid_query(f"Option {name} must be a constant.")


def create(
    catalog: Catalog,
    models: Models,
    name: Name,
    *,
    given: dict[str, Any],
    write: Callable[[Path], None],
    check: Callable[[], None],
    registries: Registries,
) -> Document:
    """Train a model and name it in the catalog, in place of the one that there may be."""
    chosen = options.check_options(given)
    models.sweep(lambda: folders(catalog))
    folder = models.train(chosen, write, check)
    existing = catalog.find(name)
    document = document_of(models.load(folder), folder)
    if existing:
        document["creationTime"] = existing["creationTime"]
    if registry := chosen.get("model_registry"):
        _register(registries[registry], name, chosen.get("vertex_ai_model_id"))
    with catalog.database.transaction() as cursor:
        check()
        catalog.put(cursor, name, document)
    if existing and existing.get("folder"):
        models.remove(existing["folder"])
    return document


def _register(register: Register, name: Name, chosen: str | None) -> None:
    """Add a version to the model of this id in a registry; without an id, of one that is made."""
    model_id = chosen or f"{name.dataset}_{name.table}".lower()
    try:
        register(name.project, model_id, name.table)
    except LocalCloudError as problem:
        raise invalid_query(f"The model registry refuses {model_id!r}: {problem}") from problem


def folders(catalog: Catalog) -> set[str]:
    """Return the folders of all models."""
    documents = catalog.database.documents("SELECT document FROM catalog.item")
    return {one["folder"] for one in documents if one["type"] == KIND}


def document_of(model: Model, folder: str) -> Document:
    """Return the resource, as far as it is kept: reference/rest/v2/models."""
    learned = model.document
    label = learned["label"]
    at = now()
    return {
        "type": KIND,
        "folder": folder,
        "creationTime": at,
        "lastModifiedTime": at,
        "modelType": NAMES.get(model.kind, model.kind),
        "trainingRuns": [_run(learned)],
        "featureColumns": [
            {"name": one["name"], "type": {"typeKind": _type(one["type"])}}
            for one in learned["columns"]
        ],
        "labelColumns": [
            {
                "name": f"predicted_{label['name']}",
                "type": {"typeKind": _type(label["type"])},
            }
        ]
        if label
        else [],
    }


def _type(arrow: str) -> str:
    """Return Arrow's type in SQL's words."""
    beginnings = {
        "bool": "BOOL",
        "int": "INT64",
        "uint": "INT64",
        "double": "FLOAT64",
        "float": "FLOAT64",
        "decimal": "NUMERIC",
        "date": "DATE",
    }
    if arrow.startswith("timestamp"):
        return "TIMESTAMP" if "tz=" in arrow else "DATETIME"
    return next((name for word, name in beginnings.items() if arrow.startswith(word)), "STRING")


def _run(learned: dict[str, Any]) -> Document:
    """Return the document of one training run: its options, its iterations, its evaluation."""
    began = datetime.fromtimestamp(learned["training"]["began"], UTC)
    results = [
        {"index": one["index"]}
        | {
            key: one[name]
            for key, name in (
                ("trainingLoss", "loss"),
                ("evalLoss", "eval_loss"),
                ("learnRate", "learn_rate"),
            )
            if one.get(name) is not None
        }
        for one in learned["training"]["iterations"]
    ]
    results[-1]["durationMs"] = str(round(learned["training"]["seconds"] * 1000))
    return {
        "trainingOptions": _training_options(learned["options"]),
        "startTime": began.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "results": results,
        "evaluationMetrics": _metrics(learned),
    }


def _training_options(chosen: dict[str, Any]) -> Document:
    """reference/rest/v2/models#TrainingOptions: of numbers, those of 64 bits are strings."""
    options: Document = {}
    for option, setting in chosen.items():
        if setting is None or option == "model_type":
            continue
        head, *tail = option.split("_")
        name = "".join([head, *(word.capitalize() for word in tail)])
        if isinstance(setting, int) and not isinstance(setting, bool):
            setting = str(setting)
        elif option == "hidden_units":
            setting = [str(one) for one in setting]
        options[NAMED.get(name, name)] = setting
    return options


NAMED = {
    "l1Reg": "l1Regularization",
    "l2Reg": "l2Regularization",
    "inputLabelCols": "inputLabelColumns",
    "dataSplitCol": "dataSplitColumn",
}


def _metrics(learned: dict[str, Any]) -> Document:
    """reference/rest/v2/models#EvaluationMetrics."""
    numbers = {key: one for key, one in learned["evaluation"].items() if one is not None}
    kind = learned["options"]["model_type"]
    if kind in options.REGRESSORS:
        named = {_camel(key): one for key, one in numbers.items()}
        named["rSquared"] = named.pop("r2Score", None)
        named.pop("explainedVariance", None)
        kept = {key: one for key, one in named.items() if one is not None}
        return {"regressionMetrics": kept}
    if kind == "KMEANS":
        evaluated = {_camel(key): one for key, one in numbers.items()}
        return {"clusteringMetrics": evaluated}
    if kind == "PCA":
        return {"dimensionalityReductionMetrics": {_camel(key): x for key, x in numbers.items()}}
    both = {_camel(key): one for key, one in numbers.items()} | {"threshold": 0.5}
    several = len(learned["label"]["classes"]) > 2
    word = "multiClassClassificationMetrics" if several else "binaryClassificationMetrics"
    return {word: {"aggregateClassificationMetrics": both}}


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return "".join([head, *(word.capitalize() for word in tail)])


def target(catalog: Catalog, name: Name, *, replace: bool, exists: bool) -> str:
    """Return what CREATE MODEL is to do: CREATE, REPLACE or SKIP. Raises Problem."""
    catalog.dataset(name.project, name.dataset)
    existing = catalog.find(name)
    if existing is None:
        return "CREATE"
    if existing["type"] != KIND:
        raise duplicate("Table", str(name))
    if replace:
        return "REPLACE"
    if exists:
        return "SKIP"
    raise duplicate("Model", str(name))


def get(catalog: Catalog, name: Name) -> Document:
    """Return a model's document. Raises Problem if there is none."""
    catalog.dataset(name.project, name.dataset)
    item = catalog.find(name)
    if item is None or item["type"] != KIND:
        raise Problem(404, "notFound", f"Not found: Model {name}")
    return item


def drop(catalog: Catalog, models: Models, name: Name) -> None:
    """Remove a model. Raises Problem if there is none."""
    model = get(catalog, name)
    with catalog.database.transaction() as cursor:
        catalog.drop_document(cursor, name)
    models.remove(model["folder"])
