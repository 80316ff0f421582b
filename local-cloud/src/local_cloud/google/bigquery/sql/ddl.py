"""CREATE, DROP and ALTER of tables and views; CREATE SCHEMA."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import duplicate, invalid_query, not_implemented
from local_cloud.google.bigquery.api.types import Field, check_schema, quote
from local_cloud.google.bigquery.catalog.catalog import Document, Name, now, table_document
from local_cloud.google.bigquery.catalog.definitions import check_columns, field, options
from local_cloud.google.bigquery.catalog.names import check_dataset_id
from local_cloud.google.bigquery.catalog.outcome import Cursor, Outcome
from local_cloud.google.bigquery.catalog.writing import Writer, fields_of
from local_cloud.google.bigquery.sql.alterations import Alteration
from local_cloud.google.bigquery.sql.grammar import Dialect, MLFunction
from local_cloud.google.bigquery.sql.resolve import Resolver, is_cte
from local_cloud.google.bigquery.sql.translate import name_columns, to_duckdb


class Change:
    """One such statement."""

    def __init__(self, writer: Writer, cursor: Cursor, resolver: Resolver) -> None:
        """Change the tables of this writer."""
        self.writer, self.cursor, self.resolver = writer, cursor, resolver
        self.catalog = writer.catalog

    def run(self, tree: Any) -> Outcome:
        """Run the statement, and return what it did."""
        handlers = {
            ("create", "TABLE"): self._create_table,
            ("create", "VIEW"): self._create_view,
            ("create", "SCHEMA"): self._create_schema,
            ("drop", "TABLE"): self._drop,
            ("drop", "VIEW"): self._drop,
            ("drop", "SCHEMA"): self._drop_schema,
            ("alter", "TABLE"): self._alter,
        }
        handler = handlers.get((tree.key, str(tree.args.get("kind"))))
        if handler is None:
            raise not_implemented(f"statement {tree.key.upper()} {tree.args.get('kind') or ''}")
        return handler(tree)

    def _translate(self, query: Any) -> str:
        resolver = self.resolver
        return to_duckdb(resolver.resolve(query), resolver.reads.values(), resolver.check)

    def _outcome(self, kind: str, name: Name, operation: str) -> Outcome:
        return Outcome(
            {
                "statementType": kind,
                "ddlOperationPerformed": operation,
                "ddlTargetTable": name.reference(),
                "totalBytesProcessed": "0",
            }
        )

    def _target(self, tree: Any) -> tuple[Name, Document | None, str]:
        """Return the name, what is there, and what is to be done: CREATE, REPLACE or SKIP."""
        table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        name = self.resolver.name(table)
        self.catalog.dataset(name.project, name.dataset)
        existing = self.catalog.find(name)
        if existing is None:
            return name, None, "CREATE"
        if tree.args.get("replace"):
            return name, existing, "REPLACE"
        if tree.args.get("exists"):
            return name, existing, "SKIP"
        raise duplicate("Table", str(name))

    def _create_table(self, tree: Any) -> Outcome:
        if any(isinstance(one, exp.TemporaryProperty) for one in tree.find_all(exp.Property)):
            raise not_implemented("temporary tables")
        name, existing, operation = self._target(tree)
        if existing and existing["type"] != "TABLE" and operation == "REPLACE":
            raise invalid_query(f"{name} cannot be replaced: it is currently a {existing['type']}")
        kind = "CREATE_TABLE_AS_SELECT" if tree.expression else "CREATE_TABLE"
        if operation == "SKIP":
            return self._outcome(kind, name, operation)
        more = options(tree)
        definitions = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
        if clone := tree.args.get("clone"):
            tree.set("expression", exp.select("*").from_(clone.this.copy()))
        fields = [field(one) for one in definitions if isinstance(one, exp.ColumnDef)]
        fields = check_schema(fields) if fields else []
        if tree.expression:
            query = tree.expression
            name_columns(query)
            sql = self._translate(query)
            if fields and not clone:
                sql = self._rename(sql, fields)
            check_columns(more, fields or fields_of(self.cursor, sql))
            self.writer.fill(
                self.cursor,
                name,
                sql,
                write="WRITE_TRUNCATE",
                more=more,
                schema=fields or None,
                afresh=True,
            )
        elif not fields:
            raise invalid_query("CREATE TABLE needs columns or a query")
        else:
            check_columns(more, fields)
            with self.writer.database.transaction(self.cursor):
                self.catalog.create(self.cursor, name, fields, more=more)
        return self._outcome(kind, name, operation)

    def _rename(self, sql: str, fields: list[Field]) -> str:
        """Return a query whose columns have the fields' names: they belong together by position."""
        count = len(fields_of(self.cursor, sql))
        if count != len(fields):
            raise invalid_query(f"the list has {len(fields)} columns, and the query {count}")
        return f"SELECT * FROM ({sql}) AS t({', '.join(quote(one['name']) for one in fields)})"

    def _create_view(self, tree: Any) -> Outcome:
        if isinstance(tree.this, exp.Schema):
            raise not_implemented("names of a view's columns: give them with AS in its query")
        name, existing, operation = self._target(tree)
        if operation == "SKIP":
            return self._outcome("CREATE_VIEW", name, operation)
        if existing and existing["type"] != "VIEW":
            raise invalid_query(f"{name} is not a view")
        document = self.view(tree.expression.copy())
        with self.writer.database.transaction(self.cursor):
            self.catalog.put(self.cursor, name, document | options(tree))
        return self._outcome("CREATE_VIEW", name, operation)

    def view(self, query: Any) -> Document:
        """Return the document of a view on this query."""
        for table in query.find_all(exp.Table):  # a view has no default dataset
            if len(table.parts) == 1 and self.resolver.dataset and not is_cte(table):
                table.set("db", exp.to_identifier(self.resolver.dataset, quoted=True))
        for one in query.find_all(MLFunction):
            one.args["model"].qualify(self.resolver.dataset)
        text = query.sql(Dialect)
        name_columns(query)
        sql = self._translate(query)
        fields = fields_of(self.cursor, sql)
        return table_document(fields, {}) | {
            "type": "VIEW",
            "view": {"query": text, "useLegacySql": False},
        }

    def _create_schema(self, tree: Any) -> Outcome:
        project, dataset = self._schema(tree.this)
        check_dataset_id(dataset)
        datasets = [name for name, _ in self.catalog.datasets(project)]
        at = now()
        document = {"location": "US", "creationTime": at, "lastModifiedTime": at}
        if dataset not in datasets:
            self.catalog.put_dataset(project, dataset, document, new=True)
        elif not tree.args.get("exists"):
            raise duplicate("Dataset", f"{project}:{dataset}")
        return self._outcome("CREATE_SCHEMA", Name(project, dataset, ""), "CREATE")

    def _schema(self, table: Any) -> tuple[str, str]:
        parts = [part.name for part in table.parts if part.name]
        return (parts[0], parts[1]) if len(parts) == 2 else (self.resolver.project, parts[-1])

    def _drop_schema(self, tree: Any) -> Outcome:
        project, dataset = self._schema(_one(tree))
        check_dataset_id(dataset)
        there = dataset in [name for name, _ in self.catalog.datasets(project)]
        if not there and not tree.args.get("exists"):
            self.catalog.dataset(project, dataset)
        if there:
            if self.catalog.items(project, dataset) and not tree.args.get("cascade"):
                raise invalid_query(f"Dataset {project}:{dataset} is still in use")
            self.catalog.delete_dataset(project, dataset)
        return self._outcome("DROP_SCHEMA", Name(project, dataset, ""), "DROP")

    def _drop(self, tree: Any) -> Outcome:
        name = self.resolver.name(_one(tree))
        existing = self.catalog.find(name)
        kind = f"DROP_{tree.args['kind']}"
        if existing is None and tree.args.get("exists"):
            return self._outcome(kind, name, "SKIP")
        document = self.catalog.get(name)
        if document["type"] != tree.args["kind"]:
            raise invalid_query(f"{name} is a {document['type']}, not a {tree.args['kind']}")
        with self.writer.database.transaction(self.cursor):
            self.catalog.drop(self.cursor, name)
        return self._outcome(kind, name, "DROP")

    def _alter(self, tree: Any) -> Outcome:
        name = self.resolver.name(tree.this)
        existing = self.catalog.find(name)
        if existing is None and tree.args.get("exists"):
            return self._outcome("ALTER_TABLE", name, "SKIP")
        document = self.catalog.get(name)
        if document["type"] != "TABLE":
            raise invalid_query(f"{name} is a {document['type']}, not a TABLE")
        with self.writer.database.transaction(self.cursor):
            alter = Alteration(self.catalog, self.cursor, name, document=document)
            for action in tree.args["actions"]:
                alter.run(action)
            self.catalog.put(self.cursor, alter.name, alter.document | {"lastModifiedTime": now()})
        return self._outcome("ALTER_TABLE", name, "ALTER")


def _one(tree: Any) -> Any:
    """Return the kind and the name that a DROP names."""
    names = tree.args.get("tables") or [tree.this]
    if len(names) != 1:
        raise invalid_query("Syntax error: DROP takes one name")
    return names[0]
