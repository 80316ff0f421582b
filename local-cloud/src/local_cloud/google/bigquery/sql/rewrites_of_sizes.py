"""Functions whose results BigQuery bounds: the messages are its own.

What bounds the memory is the process of queries, whatever a query is made of.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import not_implemented
from local_cloud.google.bigquery.sql.rewrites_of_numbers import call

_BLANK = exp.Literal.string(" ")
_ONE = exp.Literal.number(1)


def of_sizes(node: Any) -> Any:
    """Return what stands in the node's place, or the node itself."""
    match node:
        case exp.Repeat():
            return call("repeat", node.this, node.args["times"])
        case exp.Space():
            return call("repeat", _BLANK, node.this)
        case exp.Pad():
            name = "lpad" if node.args.get("is_left") else "rpad"
            return call(name, node.this, node.expression, node.args.get("fill_pattern") or _BLANK)
        case exp.GenerateSeries():
            return call("series", node.args["start"], node.args["end"], _step(node) or _ONE)
        case exp.GenerateTimestampArray():
            if _step(node) is None:
                raise not_implemented("GENERATE_TIMESTAMP_ARRAY without a step")
            times = (exp.cast(node.args[each].copy(), "TIMESTAMPTZ") for each in ("start", "end"))
            return call("series_of_times", *times, _step(node))
    return node


def _step(node: Any) -> Any:
    return node.args.get("step")
