"""SageMaker Metrics: what runs report of their metrics, and its statistics.

Sources: botocore's model; the limits on times are those of the SDK's _metrics.py (read 2026).
"""

from __future__ import annotations

import math
import secrets
import statistics
import time
from collections.abc import Sequence

from local_cloud.json_types import Json
from local_cloud.store.records import Records

KIND = "trial-component-metrics"
OLDEST, LATEST = 14 * 86400, 2 * 3600  # seconds before and after now that a time may be


class ComponentMetrics:
    """What was put for each trial component, in batches, by the component's name in lower case."""

    def __init__(self, records: Records) -> None:
        """Keep them as documents in the records."""
        self._records = records

    def put(self, component: str, points: Sequence[Json]) -> list[Json]:
        """Add points; returns an error for each that cannot be one, which are left out."""
        now = time.time()
        good = [point for point in points if _is_good(point, now)]
        if good:
            place = f"{component.lower()}/{time.time_ns():020}{secrets.token_hex(4)}"
            self._records.put(KIND, place, {"points": good})
        return [
            {"Code": "VALIDATION_ERROR", "MetricIndex": index}
            for index, point in enumerate(points)
            if point not in good
        ]

    def points(self, component: str) -> dict[str, list[Json]]:
        """Return all points of each metric, in the order of their times."""
        by_metric: dict[str, list[Json]] = {}
        for _, batch in self._records.list(KIND, f"{component.lower()}/"):
            for point in batch["points"]:
                by_metric.setdefault(point["MetricName"], []).append(point)
        for points in by_metric.values():
            points.sort(key=lambda point: point["Timestamp"])
        return by_metric

    def summaries(self, component: str, arn: str) -> list[Json]:
        """Return the statistics of each metric; arn: the component's."""
        return [
            summary(name, [(point["Timestamp"], point["Value"]) for point in points], arn)
            for name, points in self.points(component).items()
        ]

    def forget(self, component: str) -> None:
        """Remove those of a component."""
        self._records.delete_below(KIND, f"{component.lower()}/")


def summary(name: str, points: Sequence[tuple[float, float]], arn: str) -> Json:
    """Return the statistics of a metric's points, which are pairs of time and value, by time."""
    values = [value for _, value in points]
    return {
        "MetricName": name,
        "SourceArn": arn,
        "TimeStamp": points[-1][0],
        "Max": max(values),
        "Min": min(values),
        "Last": values[-1],
        "Count": len(values),
        "Avg": math.fsum(values) / len(values),
        "StdDev": statistics.pstdev(values),
    }


def _is_good(point: Json, now: float) -> bool:
    return bool(math.isfinite(point["Value"]) and -OLDEST <= point["Timestamp"] - now <= LATEST)
