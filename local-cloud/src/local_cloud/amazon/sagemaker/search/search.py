"""Search: the resources of a kind that satisfy an expression, in an order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.protocols.model import service_model
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.amazon.sagemaker.resources.tags import Tags
from local_cloud.amazon.sagemaker.search import expression
from local_cloud.json_types import Json

# What a record of each kind of resource is called in the answer, if not as the kind.
RECORDS = {"ExperimentTrial": "Trial", "ExperimentTrialComponent": "TrialComponent"}
EXTRA = ("Metrics", "HyperParameters", "Tags")  # that can be named of any kind: Filter


class Search:
    """Resources by kind ("TrainingJob"), each with what yields all of them as records."""

    def __init__(self, kinds: Mapping[str, Callable[[], Iterable[Json]]], tags: Tags) -> None:
        """tags: those of the resources, by their ARNs."""
        self._kinds, self._tags = kinds, tags

    def search(self, params: Json) -> Json:
        """Search: what was changed last comes first, unless the request says otherwise."""
        kind: str = params["Resource"]
        wanted: Json | None = params.get("SearchExpression")
        self._check(kind, wanted, params)
        word = RECORDS.get(kind, kind)
        records = [self._with_tags(record, word) for record in self._kinds[kind]()]
        if wanted:
            records = [one for one in records if expression.matches(_flatten(one), wanted)]
        down = params.get("SortOrder", "Descending") == "Descending"
        place = params.get("SortBy", "LastModifiedTime")
        records = sorted(records, key=lambda one: _order(_flatten(one), place), reverse=down)
        page = listing.page([{word: one} for one in records], params, "Results")
        return page | {"TotalHits": {"Value": len(records), "Relation": "EqualTo"}}

    def _check(self, kind: str, wanted: Json | None, params: Json) -> None:
        if kind not in self._kinds:
            raise not_implemented(f"Search of {kind}; it finds {', '.join(self._kinds)}")
        if params.get("CrossAccountFilterOption") == "CrossAccount":
            raise not_implemented("Search of other accounts")
        if params.get("VisibilityConditions"):
            raise not_implemented("Search with VisibilityConditions")
        named = [] if wanted is None else list(expression.names(wanted))
        if wanted is not None and not named:
            raise invalid("SearchExpression: provide at least one filter or subexpression")
        if len(named) > expression.MOST:
            raise invalid(f"SearchExpression: {expression.MOST} filters at most")
        shape = service_model("sagemaker").shape_for(RECORDS.get(kind, kind))
        members = {name.lower() for name in (*getattr(shape, "members", {}), *EXTRA)}
        for name in (*named, params.get("SortBy", "LastModifiedTime")):
            if name.partition(".")[0].lower() not in members:
                raise invalid(f"Unknown property name: {name}")

    def _with_tags(self, record: Json, word: str) -> Json:
        return record | {"Tags": self._tags.of(record[f"{word}Arn"])}


def _flatten(record: Json) -> Json:
    """Return a record with its tags, parameters and metrics by their names."""
    flat = dict(record)
    flat["Tags"] = {tag["Key"]: tag["Value"] for tag in record["Tags"]}
    metrics = [*record.get("Metrics", []), *record.get("FinalMetricDataList", [])]
    if metrics:
        flat["Metrics"] = {metric["MetricName"]: metric for metric in metrics}
    return flat


def _order(document: Json, place: str) -> tuple[int, float, str]:
    """Return what to sort by: without the property first, then numbers, then texts."""
    for value in map(expression.scalar, expression.values(document, place)):
        if isinstance(value, int | float):
            return (1, float(value), "")
        if value is not None:
            return (2, 0.0, str(value))
    return (0, 0.0, "")
