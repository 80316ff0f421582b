"""Evaluations of models that AutoML has trained, under the names of the service's metrics.

Source: classification_metrics_1.0.0.yaml and regression_metrics_1.0.0.yaml in
gs://google-cloud-aiplatform/schema/modelevaluation/, as Vertex AI's pages quote them (read 2026).
"""

from __future__ import annotations

import time

from google.cloud.aiplatform_v1.types import ModelEvaluation

from local_cloud.google.vertex.models.registry import ModelRegistry
from local_cloud.google.vertex.resources import documents
from local_cloud.google.vertex.resources.errors import not_found
from local_cloud.google.vertex.resources.resource import Call, Resource
from local_cloud.google.vertex.resources.schema import new_id, timestamp
from local_cloud.json_types import Json
from local_cloud.store.records import Records

KIND = "vertex-evaluations"
SCHEMAS = "gs://google-cloud-aiplatform/schema/modelevaluation/"
THRESHOLD = {  # what a row of a threshold is called here, and on the service
    "threshold": "confidenceThreshold",
    "precision": "precision",
    "recall": "recall",
    "f1": "f1Score",
    "falsePositiveRate": "falsePositiveRate",
    "truePositives": "truePositiveCount",
    "falsePositives": "falsePositiveCount",
    "falseNegatives": "falseNegativeCount",
    "trueNegatives": "trueNegativeCount",
}
CLASSES = ("auPrc", "auRoc", "logLoss")
VALUES = (
    "rootMeanSquaredError",
    "meanAbsoluteError",
    "meanAbsolutePercentageError",
    "rSquared",
    "rootMeanSquaredLogError",
)


def add(records: Records, model: Json, report: Json) -> None:
    """Record the evaluation of a model's version: what its training has written."""
    name = f"{model['name']}/evaluations/{new_id()}"
    kind = "classification" if "thresholds" in report else "regression"
    document = {
        "name": name,
        "displayName": model["displayName"],
        "metricsSchemaUri": f"{SCHEMAS}{kind}_metrics_1.0.0.yaml",
        "metrics": metrics(report, model["automl"].get("ids", {})),
        **_explanation(report.get("importance", {})),
        "createTime": timestamp(time.time()),
        "version": model["versionId"],
    }
    records.put(KIND, name, document)


def _explanation(importance: Json) -> Json:
    """Return how much each column changes predictions."""
    if not importance:
        return {}
    return {"modelExplanation": {"meanAttributions": [{"featureAttributions": importance}]}}


def metrics(report: Json, ids: Json) -> Json:
    """Return an evaluation's metrics as the service names them; ids: of classes of pictures."""
    if "thresholds" not in report:
        return {name: report[name] for name in VALUES if name in report}
    told: Json = {name: report[name] for name in CLASSES}
    told["confidenceMetrics"] = [
        {name: row[own] for own, name in THRESHOLD.items()} for row in report["thresholds"]
    ]
    if matrix := report.get("confusionMatrix"):
        specs = [
            {"id": ids.get(name, str(place)), "displayName": name}
            for place, name in enumerate(matrix["classes"])
        ]
        told["confusionMatrix"] = {"annotationSpecs": specs, "rows": matrix["rows"]}
    return told


def resource(models: ModelRegistry) -> Resource:
    """Return evaluations as a resource: each belongs to a version of a model."""
    records = models.records

    def get(call: Call) -> Json:
        evaluation = records.get(KIND, call.name)
        if evaluation is None:
            raise not_found(call.name)
        return _render(evaluation)

    def list_all(call: Call) -> Json:
        model = models.find(call.parent)
        evaluations = [
            _render(document)
            for _, document in records.list(KIND, f"{model['name']}/evaluations/")
            if document["version"] == model["versionId"]
        ]
        page, token = documents.paginate(evaluations, call.page)
        return {"modelEvaluations": page, "nextPageToken": token}

    return Resource("models/*/evaluations", ModelEvaluation, {"list": list_all, "get": get})


def _render(document: Json) -> Json:
    return {name: value for name, value in document.items() if name != "version"}
