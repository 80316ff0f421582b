"""Statistics of a table: what each column holds."""

from __future__ import annotations

from typing import Any

import pandas as pd

from local_cloud.automl import columns

TOP = 10  # values
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


def of(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the number of rows and, by name, the statistics of each column."""
    return {
        "rows": len(rows),
        "columns": {str(name): column(rows[name]) for name in rows.columns},
    }


def column(values: pd.Series) -> dict[str, Any]:
    """Return type, missing, distinct and top values; mean, deviation and quantiles of numbers."""
    present = values[values.notna()]
    texts = present.astype(str)
    top = texts.value_counts().sort_index().sort_values(ascending=False, kind="stable")[:TOP]
    described: dict[str, Any] = {
        "type": "text",
        "missing": len(values) - len(present),
        "distinct": int(texts.nunique()),
        "top": [{"value": str(value), "count": int(count)} for value, count in top.items()],
    }
    if len(present) and columns.is_numeric(present):
        numbers = pd.to_numeric(present).astype(float)
        described |= {
            "type": "number",
            "mean": float(numbers.mean()),
            "deviation": float(numbers.std(ddof=0)),
            "quantiles": [float(each) for each in numbers.quantile(list(QUANTILES))],
        }
    elif not described["distinct"] or columns.kind_of(values)[0] == columns.CATEGORY:
        described["type"] = "category" if described["distinct"] else "empty"
    return described
