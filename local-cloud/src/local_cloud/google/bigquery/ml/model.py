"""A trained model in memory, and its predictions for a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.api.errors import invalid_query
from local_cloud.google.bigquery.ml import preparation, scores
from local_cloud.google.bigquery.ml.estimators import Arrays
from local_cloud.google.bigquery.ml.options import CLASSIFIERS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

ROWS = 65_536  # that are scored at once


@dataclass(frozen=True)
class Model:
    """What training.py wrote: its document and its arrays."""

    document: dict[str, Any]
    arrays: Arrays

    @property
    def kind(self) -> str:
        """Return the model type, as BOOSTED_TREE_CLASSIFIER."""
        return str(self.document["options"]["model_type"])

    @property
    def features(self) -> list[preparation.Feature]:
        """Return how its columns are prepared."""
        prepared: list[preparation.Feature] = self.document["features"]
        return prepared

    @property
    def label(self) -> str:
        """Return the label's name."""
        return str(self.document["label"]["name"])

    @property
    def classes(self) -> list[Any]:
        """Return a classifier's classes, in the order of its scores."""
        labels: list[Any] = self.document["label"]["classes"]
        return labels

    def require(self, function: str, kinds: set[str]) -> None:
        """Raise Problem unless the model is one of these types."""
        if self.kind not in kinds:
            raise invalid_query(
                f"ML.{function} is not supported for models of type {self.kind}; it is for"
                f" {', '.join(sorted(kinds))}."
            )

    def class_values(self, numbers: np.ndarray) -> pa.Array:
        """Return the labels of these class numbers, in the label's own type."""
        import pyarrow as pa

        kinds = {"int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_()}
        values = pa.array(self.classes, kinds.get(self.document["label"]["type"], pa.string()))
        return values.take(pa.array(numbers))

    def score(self, table: pa.Table, check: Callable[[], None]) -> np.ndarray:
        """scores.score of all rows; check: called between parts, may raise."""
        import numpy as np

        parts = []
        for start in range(0, max(table.num_rows, 1), ROWS):
            check()
            x = preparation.matrix(table.slice(start, ROWS), self.features)
            parts.append(scores.score(self.document["options"], self.arrays, x))
        return np.concatenate(parts)

    @property
    def classifies(self) -> bool:
        """Return whether its label is one of several classes."""
        return self.kind in CLASSIFIERS
