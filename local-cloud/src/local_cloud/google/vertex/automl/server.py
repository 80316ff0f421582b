"""Serve a model that AutoML has trained: `python -m local_cloud.google.vertex.automl.server JSON`.

The JSON object has the model's folder, its kind (tables or pictures), and the ids of its classes.
Predictions: types/ of the SDK's schema.predict.prediction. A request for the explanation of a
picture has `explain`, the number of paths, among its parameters.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local_cloud.automl.errors import BadData
from local_cloud.google.vertex.models import prebuilt_server

MOST_PREDICTIONS = 10  # ImageClassificationPredictionParams.max_predictions
MOST_PATHS = 50


def tables(about: Mapping[str, Any]) -> prebuilt_server.Predict:
    """Return what answers for a table's model: classes with scores, or a value and its interval."""
    from local_cloud.automl.table_model import TableModel

    model = TableModel.load(Path(about["folder"], "model"))

    def predict(instances: list[Any], _: Any) -> Any:
        for each in instances:
            if not isinstance(each, Mapping):
                raise BadData(f"an instance is an object of columns and values, not {each!r}")
        outputs = model.predict(instances).tolist()
        if model.classes:
            return [{"classes": [*model.classes], "scores": scores} for scores in outputs]
        low, high = model.margins
        return [
            {"value": value, "lower_bound": value + low, "upper_bound": value + high}
            for value in outputs
        ]

    return predict


def pictures(about: Mapping[str, Any]) -> prebuilt_server.Predict:
    """Return what answers for a model of pictures: classes by their confidence."""
    import numpy as np

    from local_cloud.automl.picture_model import PictureModel

    model = PictureModel.load(Path(about["folder"], "model"))

    def predict(instances: list[Any], parameters: Any) -> Any:
        given = parameters if isinstance(parameters, Mapping) else {}
        seen = [picture(each) for each in instances]
        if paths := int(given.get("explain", 0)):
            return [
                describe_explanation(model.explain(each, min(paths, MOST_PATHS))) for each in seen
            ]
        return [describe_prediction(row, given) for row in model.predict(np.stack(seen))]

    def describe_explanation(attribution: Any) -> Any:
        attributions, baseline, prediction, place = attribution
        return {
            "attributions": attributions.tolist(),
            "baseline": baseline,
            "prediction": prediction,
            "place": place,
            "displayName": model.classes[place],
        }

    def describe_prediction(row: Any, given: Mapping[str, Any]) -> Any:
        order = [int(place) for place in row.argsort()[::-1]]
        order = order[: int(given.get("maxPredictions", MOST_PREDICTIONS))]
        chosen = [place for place in order if row[place] >= given.get("confidenceThreshold", 0.0)]
        names = [model.classes[place] for place in chosen]
        return {
            "ids": [about["ids"][name] for name in names],
            "displayNames": names,
            "confidences": [float(row[place]) for place in chosen],
        }

    return predict


def picture(instance: Any) -> Any:
    """Decode an instance: {"content": base64 of a picture's file}."""
    from local_cloud.automl.pictures import decode

    content = instance.get("content") if isinstance(instance, Mapping) else None
    if not isinstance(content, str):
        raise BadData('an instance is {"content": base64 of a picture\'s file}')
    if content.startswith("gs://"):
        raise BadData("not implemented in the local cloud: content as gs://…; send base64")
    try:
        file = base64.b64decode(content, validate=True)
    except ValueError as problem:
        raise BadData(f"content is not base64: {problem}") from None
    return decode(file, "content")


def main() -> None:
    """Load the model, then serve it."""
    about = json.loads(sys.argv[1])
    prebuilt_server.serve({"tables": tables, "pictures": pictures}[about["kind"]](about))


if __name__ == "__main__":
    main()
