"""What a function of ML is called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.api.errors import invalid_query
from local_cloud.google.bigquery.ml import labels
from local_cloud.google.bigquery.ml.model import Model

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def _nothing() -> None:
    return None


@dataclass
class Call:
    """What a function is called with."""

    model: Model
    table: pa.Table | None = None  # the rows that it is called with
    settings: Any = field(default_factory=dict)  # STRUCT's fields, or ROC_CURVE's thresholds
    check: Callable[[], None] = _nothing  # raises if the query was cancelled

    def setting(self, name: str, kind: type, default: Any) -> Any:
        """Return one field of the STRUCT. Raises Problem for another type."""
        value = self.settings.get(name, default)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise invalid_query(f"Invalid value for {name}: {value!r}")
        return value

    @property
    def rows(self) -> pa.Table:
        """Return the table. Raises Problem if there is none."""
        if self.table is None:
            raise invalid_query("This function needs a table or a query besides the model.")
        return self.table


def threshold(asked: Call) -> float:
    """Return the probability from which on a row belongs to the second of two classes."""
    if "threshold" in asked.settings and len(asked.model.document["label"].get("classes", ())) != 2:
        raise invalid_query("A threshold is for models with two classes.")
    value: float = asked.setting("threshold", float, 0.5)
    if not 0 <= value <= 1:
        raise invalid_query(f"The threshold must be from 0 to 1, not {value:g}.")
    return value


def some(rows: pa.Table) -> None:
    """Raise Problem unless there are rows."""
    if not rows.num_rows:
        raise invalid_query("There is no row to evaluate.")


def with_label(model: Model, rows: pa.Table) -> pa.Table:
    """Return the rows whose label is known."""
    import pyarrow.compute as pc

    for name in rows.column_names:
        if name.lower() == model.label.lower():
            return rows.filter(pc.is_valid(rows[name])) if rows[name].null_count else rows
    raise invalid_query(f"Column {model.label}, the label, is missing from the input.")


def classify(asked: Call) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows' class numbers and probabilities: of the input or of the training's split."""
    model = asked.model
    if asked.table is None:
        return model.arrays["evaluated_classes"], model.arrays["evaluated_scores"]
    rows = with_label(model, asked.table)
    some(rows)
    return labels.targets(rows, model.document["label"]), model.score(rows, asked.check)


def lists(width: int, fields: dict[str, Any]) -> pa.Array:
    """Return an ARRAY<STRUCT> of the same length in each row."""
    import numpy as np
    import pyarrow as pa

    values = {name: pa.array(one) for name, one in fields.items()}
    structs = pa.StructArray.from_arrays(list(values.values()), names=list(values))
    offsets = np.arange(0, len(structs) + 1, width, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), structs)
