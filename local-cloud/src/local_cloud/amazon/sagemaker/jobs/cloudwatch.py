"""CloudWatch, as far as it has the metrics of training jobs: what MetricDefinitions find in logs.

Sources: botocore's model, and the API reference of GetMetricStatistics and GetMetricData (read
2026).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from local_cloud.amazon.protocols.cbor_protocol import CborService
from local_cloud.amazon.protocols.dispatcher import Api
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.protocols.json_protocol import JsonService
from local_cloud.amazon.protocols.query_protocol import QueryService
from local_cloud.amazon.sagemaker.jobs import metrics
from local_cloud.amazon.sagemaker.jobs.training import KIND
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.json_types import Json
from local_cloud.platform import Platform
from local_cloud.store.records import Records

Point = tuple[float, float]  # seconds since the epoch, and a value
MODEL = "cloudwatch"
NAMESPACE, DIMENSION = "/aws/sagemaker/TrainingJobs", "TrainingJobName"
MOST_POINTS = 1440  # that GetMetricStatistics returns
LONGEST_PERIOD = (1 << 31) - 1  # seconds: an Integer of the API
FAR = 1e11  # seconds since the epoch that no job has
SHORT_PERIODS = (1, 5, 10, 20, 30)  # seconds; all others are whole minutes
STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {
    "SampleCount": lambda values: float(len(values)),
    "Average": lambda values: math.fsum(values) / len(values),
    "Sum": math.fsum,
    "Minimum": min,
    "Maximum": max,
}


def apis(platform: Platform) -> list[Api]:
    """Return CloudWatch in the protocols of its SDKs; in the query protocol it refuses by name."""
    metrics = JobMetrics(platform.records, platform.engine)
    operations = {"GetMetricStatistics": metrics.get_statistics, "GetMetricData": metrics.get_data}
    by_json = JsonService(MODEL, operations, in_thread=operations)
    return [CborService(MODEL, operations), by_json, QueryService(MODEL, {})]


class JobMetrics:
    """The operations that read metrics."""

    def __init__(self, records: Records, engine: JobQueue) -> None:
        """Take what the training jobs and their logs are read from."""
        self._records, self._engine = records, engine

    def get_statistics(self, params: Json) -> Json:
        """GetMetricStatistics: statistics of a metric, for each period that has values."""
        if params.get("ExtendedStatistics"):
            raise not_implemented("CloudWatch GetMetricStatistics ExtendedStatistics (percentiles)")
        if not params.get("Statistics"):
            raise _combination(
                "At least one of the parameters Statistics and ExtendedStatistics must be specified"
            )
        start, end = _interval(params)
        count = math.ceil((end - start) / params["Period"])
        if count > MOST_POINTS:
            raise _combination(
                f"You have requested up to {count:,} datapoints, which exceeds the limit of"
                f" {MOST_POINTS:,}. You may reduce the datapoints requested by increasing Period,"
                " or decreasing the time range."
            )
        periods = _periods(self._points(params), start, end, seconds=params["Period"])
        points = [
            {"Timestamp": moment, "Unit": "None"}
            | {name: STATISTICS[name](values) for name in params["Statistics"]}
            for moment, values in periods.items()
        ]
        return {"Label": params["MetricName"], "Datapoints": points}

    def get_data(self, params: Json) -> Json:
        """GetMetricData: one statistic of each of several metrics, the latest period first."""
        if params.get("NextToken"):
            raise _value("The value of the parameter NextToken is not valid.")
        results = [self._series(query, params) for query in params["MetricDataQueries"]]
        return {"MetricDataResults": [each for each in results if each]}

    def _series(self, query: Json, params: Json) -> Json:
        if query.get("Expression") or not query.get("MetricStat"):
            raise not_implemented("CloudWatch GetMetricData Expression (metric math)")
        wanted = query["MetricStat"]
        metric, statistic = wanted["Metric"], wanted["Stat"]
        if statistic not in STATISTICS:
            raise not_implemented(f"CloudWatch GetMetricData with the statistic {statistic}")
        if not query.get("ReturnData", True):
            return {}
        start, end = _interval(params | {"Period": wanted["Period"]})
        periods = _periods(self._points(metric), start, end, seconds=wanted["Period"])
        moments = sorted(periods, reverse=params.get("ScanBy") != "TimestampAscending")
        return {
            "Id": query["Id"],
            "Label": query.get("Label", metric.get("MetricName", "")),
            "Timestamps": moments,
            "Values": [STATISTICS[statistic](periods[moment]) for moment in moments],
            "StatusCode": "Complete",
        }

    def _points(self, metric: Json) -> list[Point]:
        """Return all that a job has reported of a metric; nothing of what is not known."""
        if metric.get("Namespace") != NAMESPACE:
            raise not_implemented(f"CloudWatch metrics of {metric.get('Namespace')}")
        dimensions = {each["Name"]: each["Value"] for each in metric.get("Dimensions") or []}
        if dimensions.keys() != {DIMENSION}:
            names = ", ".join(dimensions) or "none"
            raise not_implemented(f"CloudWatch metrics of training jobs by {names}: {DIMENSION}")
        document = self._records.get(KIND, dimensions[DIMENSION])
        if not document:
            return []
        algorithm = document["request"]["AlgorithmSpecification"]
        for definition in algorithm.get("MetricDefinitions") or []:
            if definition["Name"] == metric.get("MetricName"):
                return self._read(definition["Regex"], dimensions[DIMENSION])
        return []

    def _read(self, regex: str, job: str) -> list[Point]:
        logs = list(self._engine.logs(job).values())
        try:
            return metrics.series(regex, logs, metrics.SECONDS)
        except metrics.TooSlow as problem:
            raise _value(f"MetricDefinitions of {job}: {problem}") from None


def _interval(params: Json) -> tuple[float, float]:
    """Return start and end; the start is at the beginning of a period, or of a minute."""
    period = params["Period"]
    if period not in SHORT_PERIODS and (period % 60 or not 1 <= period <= LONGEST_PERIOD):
        raise _value(
            f"The value {period} for parameter Period is not supported: it must be 1, 5, 10, 20, 30"
            " or a multiple of 60."
        )
    start, end = params["StartTime"], params["EndTime"]
    if not -FAR < start < end < FAR:
        raise _value("The parameter StartTime must be less than the parameter EndTime.")
    step = min(period, 60)
    return start // step * step, end


def _periods(
    points: Sequence[Point], start: float, end: float, *, seconds: int
) -> dict[float, list[float]]:
    """Return the values of each period that has some, by its beginning."""
    values: dict[float, list[float]] = {}
    for moment, value in sorted(points):
        if start <= moment < end:
            begin = start + (moment - start) // seconds * seconds
            values.setdefault(begin, []).append(value)
    return values


def _value(message: str) -> ServiceError:
    return ServiceError("InvalidParameterValue", message)


def _combination(message: str) -> ServiceError:
    return ServiceError("InvalidParameterCombination", message)
