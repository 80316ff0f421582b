"""Run one statement: a query into a table, a change of rows, a change of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp

from local_cloud.google.bigquery.api.errors import Problem, invalid_query
from local_cloud.google.bigquery.catalog import sizes
from local_cloud.google.bigquery.catalog.catalog import Catalog, Name
from local_cloud.google.bigquery.catalog.outcome import Cursor, Outcome, Request
from local_cloud.google.bigquery.catalog.writing import Writer, fields_of
from local_cloud.google.bigquery.duckdb.foreign_errors import problem_of
from local_cloud.google.bigquery.ml.changes import ModelChanges, concerns
from local_cloud.google.bigquery.ml.expansion import Expansion
from local_cloud.google.bigquery.sql import parameters
from local_cloud.google.bigquery.sql.ddl import Change
from local_cloud.google.bigquery.sql.grammar import ExportModel
from local_cloud.google.bigquery.sql.resolve import Resolver, find_stored
from local_cloud.google.bigquery.sql.statements import parse
from local_cloud.google.bigquery.sql.translate import name_columns, to_duckdb

if TYPE_CHECKING:
    from local_cloud.google.bigquery.duckdb.database import Database

QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)
CHANGES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.TruncateTable)


class Runner:
    """Statements on the catalog's tables."""

    def __init__(self, database: Database, catalog: Catalog, changes: ModelChanges) -> None:
        """Run statements on this database; changes: runs the statements about models."""
        self.database, self.catalog = database, catalog
        self._changes = changes
        self.writer = Writer(database, catalog)

    def run(self, cursor: Cursor, request: Request, result: Name) -> Outcome:
        """Run it; result: where rows go if the request names no destination. Raises Problem."""
        tree, resolver = self._prepare(cursor, request)
        try:
            if concerns(tree):
                return self._changes.run(cursor, tree, resolver, check=request.check)
            if isinstance(tree, QUERIES):
                return self._query(cursor, tree, resolver, request=request, result=result)
            if isinstance(tree, CHANGES):
                return self._change(cursor, tree, resolver)
            return Change(self.writer, cursor, resolver).run(tree)
        except duckdb.Error as problem:
            raise problem_of(problem) from None

    def dry(self, cursor: Cursor, request: Request) -> dict[str, Any]:
        """Return the statistics of a query that is only checked, with the schema of its result."""
        tree, resolver = self._prepare(cursor, request, dry=True)
        statistics: dict[str, Any] = {"statementType": statement_type(tree)}
        try:
            if isinstance(tree, QUERIES):
                sql = self._translate(tree, resolver)
                statistics["schema"] = {"fields": fields_of(cursor, sql)}
            elif isinstance(tree, CHANGES):
                cursor.execute("EXPLAIN " + self._find_changed(tree, resolver)[1])
        except duckdb.Error as problem:
            raise problem_of(problem) from None
        return statistics | sizes.estimate_processed(cursor, tree, resolver.reads)

    def _prepare(
        self, cursor: Cursor, request: Request, *, dry: bool = False
    ) -> tuple[Any, Resolver]:
        project = request.dataset_project or request.project
        resolver = Resolver(self.catalog, project, request.dataset, check=request.check)
        resolver.functions = Expansion(
            self._changes.models, resolver, cursor, check=request.check, dry=dry
        )
        tree = parse(request.query)
        request.check()
        return parameters.fill(tree, request.parameters), resolver

    def _translate(self, tree: Any, resolver: Resolver) -> str:
        name_columns(tree)
        return to_duckdb(resolver.resolve(tree), resolver.reads.values(), resolver.check)

    def _query(
        self, cursor: Cursor, tree: Any, resolver: Resolver, *, request: Request, result: Name
    ) -> Outcome:
        asked = tree.copy()
        sql = self._translate(tree, resolver)
        estimate = sizes.estimate_processed(cursor, asked, resolver.reads)
        _require_billed(estimate, request)
        target = request.destination or result
        self.writer.fill(
            cursor,
            target,
            sql,
            write=request.write if request.destination else "",
            create=request.create,
        )
        statistics = {
            "statementType": "SELECT",
            "referencedTables": [name.reference() for name in resolver.reads],
        }
        return Outcome(statistics | estimate, target)

    def _change(self, cursor: Cursor, tree: Any, resolver: Resolver) -> Outcome:
        asked = tree.copy()
        if not isinstance(tree, (exp.Delete, exp.TruncateTable)):
            self.database.require_room()
        target, sql = self._find_changed(tree, resolver)
        read = sizes.estimate_processed(cursor, asked, resolver.reads)
        with self.database.transaction(cursor):
            rows = cursor.execute(sql).fetchall()
            self.catalog.touch(cursor, target)
        count = rows[0][0] if rows and isinstance(rows[0][0], int) else 0
        kind = statement_type(asked)
        statistics: dict[str, Any] = {"statementType": kind, "numDmlAffectedRows": str(count)}
        if kind in ("INSERT", "UPDATE", "DELETE"):
            word = {"INSERT": "inserted", "UPDATE": "updated", "DELETE": "deleted"}[kind]
            statistics["dmlStats"] = {f"{word}RowCount": str(count)}
        return Outcome(statistics | read)

    def _find_changed(self, tree: Any, resolver: Resolver) -> tuple[Name, str]:
        """Return the table that a statement changes, and its SQL."""
        if isinstance(tree, exp.Delete) and tree.args.get("tables"):  # DELETE t, without FROM
            tree.set("this", tree.args["tables"][0])
            tree.set("tables", None)
        table = tree.expressions[0] if isinstance(tree, exp.TruncateTable) else tree.this
        columns = table.expressions if isinstance(table, exp.Schema) else []
        table = table.this if isinstance(table, exp.Schema) else table
        target = resolver.name(table)
        document = self.catalog.get(target)
        if document["type"] != "TABLE":
            raise invalid_query(f"{target} is a {document['type']}, which cannot be changed")
        if isinstance(tree, (exp.Delete, exp.Update)) and not tree.args.get("where"):
            word = statement_type(tree)
            raise invalid_query(f"{word} must have a WHERE clause")
        if isinstance(tree, exp.TruncateTable):
            return target, f"DELETE FROM {target.sql_name}"
        alias = table.alias or target.table
        resolver.resolve(tree)
        if isinstance(tree, exp.Insert):
            node = find_stored(target)
            tree.set("this", exp.Schema(this=node, expressions=columns) if columns else node)
        else:
            tree.this.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        return target, to_duckdb(tree, [*resolver.reads.values(), document], resolver.check)


def _require_billed(estimate: dict[str, Any], request: Request) -> None:
    """Refuse, before it runs, a query that would be billed for more than maximumBytesBilled."""
    billed = int(estimate["totalBytesBilled"])
    if request.most_billed is not None and billed > request.most_billed:
        raise Problem(
            400,
            "bytesBilledLimitExceeded",
            f"Query exceeded limit for bytes billed: {request.most_billed}."
            f" {billed} or higher required.",
        )


def statement_type(tree: Any) -> str:
    """Return the API's name of a kind of statement."""
    if isinstance(tree, QUERIES):
        return "SELECT"
    if isinstance(tree, exp.TruncateTable):
        return "TRUNCATE_TABLE"
    if isinstance(tree, ExportModel):
        return "EXPORT_MODEL"
    if isinstance(tree, exp.Create):
        kind = f"CREATE_{tree.kind}"
        return f"{kind}_AS_SELECT" if tree.kind == "TABLE" and tree.expression else kind
    if isinstance(tree, (exp.Drop, exp.Alter)):
        return f"{tree.key.upper()}_{tree.kind}"
    return str(tree.key).upper()
