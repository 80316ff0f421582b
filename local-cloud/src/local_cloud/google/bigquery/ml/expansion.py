"""ML's functions in a query: each becomes a table with the rows that it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import invalid_query
from local_cloud.google.bigquery.catalog.catalog import Name
from local_cloud.google.bigquery.catalog.outcome import Cursor
from local_cloud.google.bigquery.ml import statements
from local_cloud.google.bigquery.ml.rows import call_function
from local_cloud.google.bigquery.ml.store import Models
from local_cloud.google.bigquery.sql.grammar import MLFunction
from local_cloud.google.bigquery.sql.resolve import Resolver, put
from local_cloud.google.bigquery.sql.translate import to_duckdb

MOST_THRESHOLDS = 100_000
# Those whose columns do not depend on the rows that they are called with.
FIXED = {"EVALUATE", "CONFUSION_MATRIX", "ROC_CURVE"}


class Expansion:
    """Calls the functions of one statement, the inner ones first."""

    def __init__(
        self,
        models: Models,
        resolver: Resolver,
        cursor: Cursor,
        *,
        check: Callable[[], None],
        dry: bool,
    ) -> None:
        """check: raises if the query was cancelled; dry: only the columns matter, not the rows."""
        self._models, self._resolver, self._cursor = models, resolver, cursor
        self._check, self._dry = check, dry

    def __call__(self, tree: Any) -> None:
        """Replace the functions of a tree whose names are resolved. Raises Problem."""
        for number in count():
            functions_left = list(tree.find_all(MLFunction))
            if not functions_left:
                return
            ready = [one for one in functions_left if not _waits(one)]
            if not ready:
                raise invalid_query("A function of ML cannot use the result of itself.")
            self._replace(ready[0], f"ml_{number}")

    def _replace(self, node: Any, name: str) -> None:
        table = node.parent
        if not isinstance(table, exp.Table):
            raise invalid_query(f"ML.{node.args['function']} is a table; use it after FROM.")
        self._call(node, name)
        made = exp.Table(
            this=exp.to_identifier(name, quoted=True),
            db=exp.to_identifier("main"),
            catalog=exp.to_identifier("temp"),
        )
        put(table, made, table.alias or name)

    def _call(self, node: Any, name: str) -> None:
        """Call a function; its rows are a temporary table of this name."""
        function = node.args["function"]
        model = Name(*(part.name for part in node.args["model"].expressions))
        document = statements.get(self._resolver.catalog, model)
        sql = None
        if (data := node.args.get("data")) is not None and not (self._dry and function in FIXED):
            sql = f"SELECT * FROM ({self._data(data)})" + (" LIMIT 0" if self._dry else "")
        settings = _settings(node.args.get("settings"))
        while True:
            self._check()
            folder = self._models.folder / str(document["folder"])
            if self._cursor.run(call_function, name, function, folder, sql, settings):
                return
            document = statements.get(self._resolver.catalog, model)  # there is a newer one

    def _data(self, data: Any) -> str:
        """Return the rows' query, with each WITH that it can see."""
        seen = list(_before(data))
        query = exp.select("*").from_(data.copy())
        if seen:
            recursive = any(one.parent.args.get("recursive") for one in seen)
            copies = [one.copy() for one in reversed(seen)]
            query.set("with_", exp.With(expressions=copies, recursive=recursive))
        return to_duckdb(query, self._resolver.reads.values(), self._check)


def _waits(node: Any) -> bool:
    """Return whether what a function uses has functions that are not yet called."""
    data = node.args.get("data")
    if data is None:
        return False
    return any(any(True for _ in one.find_all(MLFunction)) for one in [data, *_before(data)])


def _before(node: Any) -> Iterator[Any]:
    """Yield each WITH that a node can use, the nearest first."""
    child, parent = node, node.parent
    while parent is not None:
        if isinstance(parent, exp.With):
            place = parent.expressions.index(child)
            yield from reversed(parent.expressions[:place])
        elif (clause := parent.args.get("with_")) is not None and clause is not child:
            yield from reversed(clause.expressions)
        child, parent = parent, parent.parent


def _settings(node: Any) -> Any:
    """STRUCT(…) as names and values, an array as a list. Raises Problem."""
    if node is None:
        return {}
    if isinstance(node, exp.GenerateSeries):
        return _series(node)
    if isinstance(node, exp.Array):
        return statements.value(node, "thresholds")
    if not isinstance(node, exp.Struct):
        raise invalid_query("The last argument of a function of ML must be a STRUCT.")
    settings = {}
    for one in node.expressions:
        if not isinstance(one, (exp.PropertyEQ, exp.Alias)):
            raise invalid_query("Each value of the STRUCT needs a name: STRUCT(0.5 AS threshold).")
        name = one.this.name if isinstance(one, exp.PropertyEQ) else one.alias
        settings[name] = statements.value(one, name)
    return settings


def _series(node: Any) -> list[float]:
    """GENERATE_ARRAY of numbers."""
    parts = [
        statements.value(node.args[key], "thresholds") if node.args.get(key) is not None else 1
        for key in ("start", "end", "step")
    ]
    if not all(type(one) in (int, float) for one in parts) or parts[2] <= 0:
        raise invalid_query("GENERATE_ARRAY needs numbers, and a step above 0.")
    start, end, step = parts
    size = int((end - start) / step + 1e-9) + 1
    if size > MOST_THRESHOLDS:
        raise invalid_query(f"GENERATE_ARRAY would make {size:,} thresholds.")
    return [start + i * step for i in range(size)]
