"""Feature attributions of predictions, by sampled Shapley values (local_cloud.automl.shapley).

Source: types/explanation.py and types/explanation_metadata.py of google.cloud.aiplatform_v1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from local_cloud.automl import shapley
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources.schema import require
from local_cloud.json_types import Json

AT_ONCE = 500  # instances of a request to the model, and the values in them:
VALUES_AT_ONCE = 100_000
MOST_VALUES = 20_000_000  # in all that the model is asked, to explain one instance
MOST_PATHS = 50  # SampledShapleyAttribution.path_count

Ask = Callable[[list[Any]], Awaitable[list[Any]]]  # instances to predictions


@dataclass(frozen=True)
class Point:
    """An instance as its features: of an object its fields, of a list its places."""

    values: dict[Any, Any]
    is_list: bool

    @classmethod
    def of(cls, instance: Any) -> Point:
        """Take an instance apart."""
        if isinstance(instance, list):
            return cls(dict(enumerate(instance)), is_list=True)
        require(isinstance(instance, dict), "explain: an instance is an object or a list")
        return cls(dict(instance), is_list=False)

    def instance(self) -> Any:
        """Put it together."""
        return list(self.values.values()) if self.is_list else self.values


def path_count(spec: Json) -> int:
    """Return how many paths the model's explanation spec asks for.

    Raise ApiError if it asks for others.
    """
    parameters = spec.get("parameters", {})
    if "sampledShapleyAttribution" not in parameters:
        asked = ", ".join(sorted(parameters)) or "none"
        raise ApiError(
            "UNIMPLEMENTED",
            "not implemented in the local cloud: explanations other than"
            f" sampledShapleyAttribution; the model asks for {asked}",
        )
    count = int(parameters["sampledShapleyAttribution"].get("pathCount", 0))
    require(1 <= count <= MOST_PATHS, f"pathCount: {count}; give 1 to {MOST_PATHS}")
    return count


async def explain(instance: Any, spec: Json, ask: Ask) -> Json:
    """Return the Explanation of one instance."""
    metadata = spec.get("metadata", {})
    point = Point.of(instance)
    baseline = _baseline(point, metadata.get("inputs", {}))
    features = [name for name in point.values if point.values[name] != baseline.values[name]]
    count = path_count(spec)
    _require_few(len(features), count, size=len(point.values))
    paths = shapley.paths(features, count)
    steps = (each for path in paths for each in _steps(baseline, point, path))
    at_once = min(AT_ONCE, max(1, VALUES_AT_ONCE // max(1, len(point.values))))
    predictions: list[Any] = []
    while part := await asyncio.to_thread(lambda: list(islice(steps, at_once))):
        predictions += await ask(part)
    output, index, values = _outputs(predictions, metadata)
    changes = shapley.changes(paths, values)
    means = shapley.means(changes, list(point.values))
    half = shapley.means(changes[: (len(changes) + 1) // 2], list(point.values))
    size = sum(abs(each) for each in means.values())
    apart = sum(abs(means[name] - half[name]) for name in means)
    attributions: Any = (
        {next(iter(metadata.get("inputs", {})), "instances"): list(means.values())}
        if point.is_list
        else means
    )
    attribution: Json = {
        "baselineOutputValue": values[0],
        "instanceOutputValue": values[len(features)],
        "featureAttributions": attributions,
        "outputName": output,
        "outputIndex": index,
        "approximationError": apart / size if size else 0.0,
    }
    key = metadata.get("outputs", {}).get(output, {}).get("displayNameMappingKey", "")
    if index and key in predictions[0]:
        attribution["outputDisplayName"] = predictions[0][key][index[0]]
    return {"attributions": [attribution]}


def of_map(explained: Json) -> Json:
    """Return the Explanation of a picture, whose model has explained the regions of a grid."""
    attribution = {
        "baselineOutputValue": explained["baseline"],
        "instanceOutputValue": explained["prediction"],
        "featureAttributions": {"content": explained["attributions"]},
        "outputName": "confidences",
        "outputIndex": [explained["place"]],
        "outputDisplayName": explained["displayName"],
    }
    return {"attributions": [attribution]}


def _baseline(point: Point, inputs: Json) -> Point:
    """Return the baseline.

    That is each input's first inputBaseline, else 0 for a number and a gap for a word.
    """
    values = {name: _nothing(value) for name, value in point.values.items()}
    for name, about in inputs.items():
        if given := about.get("inputBaselines", []):
            if point.is_list:
                require(
                    isinstance(given[0], list) and len(given[0]) == len(values),
                    f"inputBaselines of {name}: a list of {len(values)} values is needed",
                )
                values = dict(enumerate(given[0]))
            elif name in values:
                values[name] = given[0]
    if not point.is_list and inputs:  # what the metadata does not name stays as it is
        values |= {name: value for name, value in point.values.items() if name not in inputs}
    return Point(values, point.is_list)


def _nothing(value: Any) -> Any:
    return 0 if isinstance(value, int | float) else None


def _steps(baseline: Point, point: Point, path: list[Any]) -> Iterator[Any]:
    values = dict(baseline.values)
    yield Point(dict(values), point.is_list).instance()
    for name in path:
        values[name] = point.values[name]
        yield Point(dict(values), point.is_list).instance()


def _require_few(features: int, paths: int, *, size: int) -> None:
    """Refuse an instance of so many values that the model would be asked for ever."""
    values = paths * (features + 1) * size
    require(
        values <= MOST_VALUES,
        f"explain: {features} features that differ from the baseline, on {paths} paths, are"
        f" {values} values to predict from, and at most {MOST_VALUES} are here: give the model a"
        " smaller pathCount",
    )


def _outputs(predictions: list[Any], metadata: Json) -> tuple[str, list[int], list[float]]:
    """Return the output that is explained: its name, its index and its value in each prediction."""
    name = next(iter(metadata.get("outputs", {})), "")
    if isinstance(predictions[0], dict):
        require(name in predictions[0], f"explanation metadata: no output {name!r} in predictions")
        predictions = [each[name] for each in predictions]
    index: list[int] = []
    if isinstance(predictions[0], list):  # the class that the model finds most probable
        last = predictions[-1]
        index = [max(range(len(last)), key=last.__getitem__)]
        predictions = [each[index[0]] for each in predictions]
    try:
        return name, index, [float(each) for each in predictions]
    except (TypeError, ValueError):
        raise ApiError(
            "FAILED_PRECONDITION", f"the output {name!r} is no number, so nothing explains it"
        ) from None
