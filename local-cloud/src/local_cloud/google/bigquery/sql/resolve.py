"""Names in a query: `project.dataset.table` becomes the table that DuckDB has, a view its query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import invalid_query, no_such_dataset, not_implemented
from local_cloud.google.bigquery.catalog.catalog import Catalog, Document, Name
from local_cloud.google.bigquery.duckdb.database import encode
from local_cloud.google.bigquery.sql import information_schema
from local_cloud.google.bigquery.sql.grammar import MLFunction
from local_cloud.google.bigquery.sql.statements import count_tokens, parse, require_few

DEEPEST = 16  # views in views


@dataclass
class Resolver:
    """The names of one statement; what it reads is noted."""

    catalog: Catalog
    project: str
    dataset: str = ""  # the default one
    reads: dict[Name, Document] = field(default_factory=dict)
    functions: Callable[[Any], None] | None = None  # calls those of ML in a tree
    check: Callable[[], None] = lambda: None  # raises if the query was cancelled
    sizes: list[int] = field(default_factory=list)  # tokens of the views, one each time it is read

    def resolve(self, tree: Any, depth: int = 0) -> Any:
        """Return the tree with DuckDB's names.

        Statements' own targets are resolved by their runners.
        """
        for table in list(tree.find_all(exp.Table)):
            if isinstance(table.this, MLFunction):
                continue
            if not isinstance(table.this, exp.Identifier):
                what = table.this.sql("bigquery")[:80] if table.this else ""
                raise invalid_query(f"Invalid table name or table-valued function: {what}")
            if not is_cte(table):
                self._replace(table, depth)
        self._functions(tree, depth)
        return tree

    def _functions(self, tree: Any, depth: int) -> None:
        """Name the models in full; the outermost tree has the functions of its views, too."""
        functions = list(tree.find_all(MLFunction))
        for one in functions:
            if isinstance(one.args["model"], exp.Array):
                continue
            name = self.name(one.args["model"])
            parts = [exp.Literal.string(part) for part in (name.project, name.dataset, name.table)]
            one.set("model", exp.Array(expressions=parts))
        if functions and depth == 0:
            if self.functions is None:
                raise not_implemented("functions of ML in a view that is made without SQL")
            self.functions(tree)

    def name(self, table: Any) -> Name:
        """Return the full name that a table node has. Raises Problem."""
        parts = [part.name for part in table.parts]
        if len(parts) == 1 and not self.dataset:
            raise invalid_query(
                f'Table "{parts[0]}" must be qualified with a dataset (e.g. dataset.table).'
            )
        if len(parts) > 3 or not all(parts):
            raise invalid_query(f'Invalid table name: "{".".join(parts)}"')
        defaults = [self.project, self.dataset]
        full_name = Name(*(defaults[: 3 - len(parts)] + parts))
        if full_name.dataset.startswith("_"):  # where results are kept: none of the user's
            raise no_such_dataset(full_name.project, full_name.dataset)
        return full_name

    def _replace(self, table: Any, depth: int) -> None:
        if request := information_schema.read_request(table):
            alias = table.alias or request.view
            node = information_schema.query(
                self.catalog, self.project, self.dataset, request=request
            )
            put(table, node.subquery(), alias)
            return
        name = self.name(table)
        if name.table.endswith("*"):
            raise not_implemented("wildcard tables and _TABLE_SUFFIX")
        if name.table.upper() in ("__TABLES__", "__TABLES_SUMMARY__"):
            raise not_implemented(f"{name.table}: use INFORMATION_SCHEMA.TABLES")
        document = self.catalog.get(name)
        alias = table.alias or name.table
        if document["type"] == "VIEW":
            if depth >= DEEPEST:
                raise invalid_query(f"views are nested more than {DEEPEST} deep: {name}")
            text = document["view"]["query"]
            self.sizes.append(count_tokens(text))
            require_few(sum(self.sizes))
            self.check()
            inner = Resolver(
                self.catalog, name.project, "", self.reads, check=self.check, sizes=self.sizes
            )
            query = inner.resolve(parse(text), depth + 1)
            put(table, query.subquery(), alias)
            return
        if document["type"] != "TABLE":
            raise invalid_query(f"{name} is not a table: it is a {document['type']}")
        self.reads[name] = document
        put(table, find_stored(name), alias)


def find_stored(name: Name) -> Any:
    """Return the node of the table that DuckDB has."""
    return exp.Table(
        this=exp.to_identifier(encode(name.table), quoted=True),
        db=exp.to_identifier(name.schema, quoted=True),
    )


def put(table: Any, node: Any, alias: str) -> None:
    """Put a node in the place of a table node, under this alias."""
    columns = table.args["alias"].args.get("columns") if table.args.get("alias") else None
    node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True), columns=columns))
    for kept in ("joins", "pivots", "laterals", "sample"):
        if table.args.get(kept):
            node.set(kept, table.args[kept])
    table.replace(node)


def is_cte(table: Any) -> bool:
    """Return whether a table node names a WITH, and no table."""
    return len(table.parts) == 1 and any(
        one.lower() == table.name.lower() for one in _visible(table)
    )


def _visible(node: Any) -> Iterator[str]:
    """Yield the names of WITH that a node can use: those before it and those around it."""
    child, parent = node, node.parent
    while parent is not None:
        if isinstance(parent, exp.With):
            for one in parent.expressions:
                if one is child and not parent.args.get("recursive"):
                    break
                yield one.alias
        elif (clause := parent.args.get("with_")) is not None and clause is not child:
            yield from (one.alias for one in clause.expressions)
        child, parent = parent, parent.parent
