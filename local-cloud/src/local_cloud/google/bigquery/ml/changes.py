"""Run CREATE MODEL, DROP MODEL and EXPORT MODEL."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from local_cloud.billing import query_records
from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented
from local_cloud.google.bigquery.catalog import sizes
from local_cloud.google.bigquery.catalog.catalog import Catalog, Name
from local_cloud.google.bigquery.catalog.outcome import Cursor, Outcome
from local_cloud.google.bigquery.ml import statements
from local_cloud.google.bigquery.ml.options import LINEAR, UNSUPERVISED
from local_cloud.google.bigquery.ml.rows import write_rows
from local_cloud.google.bigquery.ml.store import Models
from local_cloud.google.bigquery.sql.grammar import ExportModel
from local_cloud.google.bigquery.sql.resolve import Resolver
from local_cloud.google.bigquery.sql.translate import name_columns, to_duckdb
from local_cloud.store.objects import Objects

FILES = ("model.json", "arrays.npz")
_ID = re.compile(r"[\w\-]{1,1024}")
_URI = re.compile(r"gs://([^/]+)/?(.*)", re.DOTALL)


def concerns(tree: Any) -> bool:
    """Return whether a statement is about a model."""
    return isinstance(tree, ExportModel) or (
        isinstance(tree, (exp.Create, exp.Drop)) and str(tree.args.get("kind")) == "MODEL"
    )


class ModelChanges:
    """Statements about models."""

    def __init__(
        self,
        catalog: Catalog,
        models: Models,
        objects: Objects,
        *,
        registries: statements.Registries,
    ) -> None:
        """objects: the buckets that models are exported to; registries: Platform.registries."""
        self.catalog, self.models, self.objects = catalog, models, objects
        self._registries = registries

    def run(
        self, cursor: Cursor, tree: Any, resolver: Resolver, *, check: Callable[[], None]
    ) -> Outcome:
        """Run the statement; check: raises if the query was cancelled. Raises Problem."""
        if isinstance(tree, ExportModel):
            return self._export(tree, resolver)
        if isinstance(tree, exp.Drop):
            return self._drop(tree, resolver)
        return self._create(cursor, tree, resolver, check=check)

    def _create(
        self, cursor: Cursor, tree: Any, resolver: Resolver, *, check: Callable[[], None]
    ) -> Outcome:
        name = resolver.name(tree.this)
        if not _ID.fullmatch(name.table):
            raise invalid_query(f'Invalid model ID "{name.table}".')
        exists, replace = bool(tree.args.get("exists")), bool(tree.args.get("replace"))
        operation = statements.target(self.catalog, name, replace=replace, exists=exists)
        if operation == "SKIP":
            return _outcome("CREATE_MODEL", name, operation)
        properties = tree.args.get("properties")
        given = statements.read_options(properties.expressions if properties else [])
        if tree.expression is None:
            raise not_implemented("CREATE MODEL without AS SELECT")
        asked = tree.expression.copy()
        name_columns(tree.expression)
        sql = to_duckdb(resolver.resolve(tree.expression), resolver.reads.values(), check)
        size = sizes.estimate_processed(cursor, asked, resolver.reads)
        document = statements.create(
            self.catalog,
            self.models,
            name,
            given=given,
            write=lambda path: cursor.run(write_rows, sql, path),
            check=check,
            registries=self._registries,
        )
        made = _outcome("CREATE_MODEL", name, operation)
        return Outcome(made.statistics | size, billed_as=_price_of_training(document["modelType"]))

    def _drop(self, tree: Any, resolver: Resolver) -> Outcome:
        tables = tree.args.get("tables") or [tree.this]
        if len(tables) != 1:
            raise invalid_query("DROP MODEL takes one model.")
        name = resolver.name(tables[0])
        if tree.args.get("exists") and self.catalog.find(name) is None:
            return _outcome("DROP_MODEL", name, "SKIP")
        statements.drop(self.catalog, self.models, name)
        return _outcome("DROP_MODEL", name, "DROP")

    def _export(self, tree: ExportModel, resolver: Resolver) -> Outcome:
        name = resolver.name(tree.this)
        given = statements.read_options(tree.args["options"])
        uri = given.pop("uri", None)
        if given:
            raise not_implemented(f"option {min(given)} of EXPORT MODEL")
        match = _URI.fullmatch(uri) if isinstance(uri, str) else None
        if match is None:
            raise invalid_query("EXPORT MODEL needs OPTIONS(URI='gs://BUCKET/FOLDER').")
        bucket, folder = match[1], match[2].strip("/")
        document = statements.get(self.catalog, name)
        self.objects.bucket(bucket)
        for file in FILES:
            copy = self.objects.upload_file()
            shutil.copyfile(self.models.folder / document["folder"] / file, copy)
            self.objects.put(bucket, f"{folder}/{file}" if folder else file, copy)
        return _outcome("EXPORT_MODEL", name, "CREATE")


def _outcome(kind: str, name: Name, operation: str) -> Outcome:
    return Outcome(
        {
            "statementType": kind,
            "ddlOperationPerformed": operation,
            "ddlTargetTable": name.reference(),
            "totalBytesProcessed": "0",
        }
    )


def _price_of_training(model_type: str) -> str:
    """Return which price a training has: that of trees and networks is not known here."""
    own = {statements.NAMES.get(kind, kind) for kind in LINEAR | UNSUPERVISED}
    return query_records.CREATE_MODEL if model_type in own else query_records.EXTERNAL_MODEL
