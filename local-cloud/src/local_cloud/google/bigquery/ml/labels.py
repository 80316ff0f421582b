"""A model's label: its type and classes, the numbers of the classes, what each counts for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.api.errors import invalid_query
from local_cloud.google.bigquery.ml.options import CLASSIFIERS
from local_cloud.google.bigquery.ml.preparation import is_text

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

MOST_CLASSES = 50  # as the service: num_classes of multi-class models


def label_of(table: pa.Table, name: str, kind: str) -> dict[str, Any]:
    """Return the label's name, its type and, of a classifier, its classes in order."""
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    if not name:
        return {}
    column = table[name]
    numeric = kinds.is_integer(column.type) or kinds.is_floating(column.type)
    if kind not in CLASSIFIERS:
        if not numeric and not kinds.is_decimal(column.type):
            raise invalid_query(
                f"The label {name} has type {column.type}; a regressor needs numbers."
            )
        return {"name": name, "type": "double"}
    if not (numeric or kinds.is_boolean(column.type) or is_text(column.type)):
        raise invalid_query(
            f"The label {name} has type {column.type}, which is no type of a class."
        )
    classes = sorted(pc.unique(column).to_pylist())
    if len(classes) < 2:
        raise invalid_query(
            f"The label {name} must have at least two values to classify; it has 1."
        )
    if len(classes) > MOST_CLASSES:
        raise invalid_query(
            f"The label {name} has {len(classes):,} values; at most {MOST_CLASSES} are allowed."
        )
    spelled = "int64" if kinds.is_integer(column.type) else "double" if numeric else "string"
    return {
        "name": name,
        "type": "bool" if kinds.is_boolean(column.type) else spelled,
        "classes": classes,
    }


def targets(table: pa.Table, label: dict[str, Any]) -> np.ndarray:
    """Return the label's values or, of a classifier, the numbers of its classes. Raises Problem."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    names = [name for name in table.column_names if name.lower() == label["name"].lower()]
    if not names:
        raise invalid_query(f"Column {label['name']}, the label, is missing from the input.")
    column = table[names[0]].combine_chunks()
    if "classes" not in label:
        values: np.ndarray = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return values
    try:
        known = pa.array(label["classes"]).cast(column.type)
    except pa.ArrowInvalid as problem:
        raise invalid_query(f"Column {label['name']}: {problem}") from None
    places = pc.index_in(column, known)
    if places.null_count:
        stranger = column.filter(pc.is_null(places))[0].as_py()
        raise invalid_query(f"The label {stranger!r} was not in the training data.")
    numbers: np.ndarray = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def weights(
    options: dict[str, Any], label: dict[str, Any], y: np.ndarray | None
) -> np.ndarray | None:
    """Return what each row counts for: its class's weight."""
    import numpy as np

    if options.get("auto_class_weights"):
        assert y is not None
        counts = np.bincount(y, minlength=len(label["classes"]))
        balanced: np.ndarray = (len(y) / (len(counts) * counts))[y]
        return balanced
    if options.get("class_weights"):
        given = dict(options["class_weights"])
        spelled = [str(one) for one in label["classes"]]
        if label["type"] == "bool":
            spelled = [one.lower() for one in spelled]
        if strangers := set(given) - set(spelled):
            raise invalid_query(f"class_weights: {min(strangers)!r} is not a label.")
        weights_of_rows: np.ndarray = np.array([given.get(one, 1.0) for one in spelled])[y]
        return weights_of_rows
    return None
