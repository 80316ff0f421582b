"""Run the BigQuery statements of sqlglot's own tests, and count what becomes of them.

`python -m tests.google.bigquery.sqlglot_cases FILE`: FILE is
`tests/dialects/test_bigquery.py` of sqlglot's source archive. Its tests translate
statements and run none; here each is run, and its tables are made up: columns of the
names that it has, of the first type with which it runs. What is an expression alone is selected.
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import sqlglot
from sqlglot import exp

from local_cloud.google.bigquery.api.errors import Problem
from local_cloud.google.bigquery.catalog.catalog import Name
from local_cloud.google.bigquery.catalog.outcome import Request
from local_cloud.google.bigquery.parts import Parts
from local_cloud.platform import Platform

RESULT = Path(__file__).with_name("sqlglot_cases.json")
KINDS = ("INTEGER", "STRING", "DATE", "TIMESTAMP", "DATETIME", "FLOAT", "JSON", "ARRAY")
Found = tuple[str, str, str]  # run, not implemented or failed; the statement; the message


def statements(source: str) -> list[str]:
    """The statements that the tests name, each once."""
    texts = [
        call.args[0].value
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("validate_identity", "validate_all")
        and call.args
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    ]
    return list(dict.fromkeys(texts))


class Cases:
    """Runs one statement after the other in a database of its own."""

    def __init__(self, folder: Path) -> None:
        """folder: where it is."""
        self._platform = Platform.of(folder, {})
        self._parts = Parts(self._platform)
        self._database, self._catalog = self._parts.database, self._parts.catalog

    def run(self, statement: str) -> Found:
        """What becomes of a statement: with the kind of columns with which it does best."""
        statement = whole(statement)
        best: Found = ("failed", statement, "")
        for kind in KINDS:
            outcome, _, said = self._try(statement, kind)
            if outcome == "run":
                return ("run", statement, "")
            if outcome == "not implemented" or not best[2]:
                best = (outcome, statement, said)
        return best

    def _try(self, statement: str, kind: str) -> Found:
        self._clear()
        names = _columns(statement)
        for _ in range(10):  # each turn makes a dataset or a table that is missing
            request = Request(project="p", query=statement, dataset="d")
            try:
                with self._database.cursor() as cursor:
                    self._parts.runner.run(cursor, request, Name("p", "_results", "r"))
                return ("run", statement, "")
            except Problem as problem:
                if problem.code == 404 and self._make(str(problem), names, kind):
                    continue
                outcome = "not implemented" if problem.code == 501 else "failed"
                return (outcome, statement, str(problem))
            except Exception as problem:  # noqa: BLE001 - a fault of ours counts as a failure
                return ("failed", statement, f"{type(problem).__name__}: {problem}")
        return ("failed", statement, "its tables could not be made")

    def _clear(self) -> None:
        rows = self._database.rows("SELECT project, dataset FROM catalog.dataset")
        for project, dataset in rows:
            self._catalog.delete_dataset(project, dataset)
        self._catalog.put_dataset("p", "d", _dataset(), new=True)

    def _make(self, said: str, names: list[str], kind: str) -> bool:
        what, _, name = said.removeprefix("Not found: ").split(" was not found")[0].partition(" ")
        project, _, rest = name.rpartition(":")
        if what == "Dataset":
            self._catalog.put_dataset(project, rest, _dataset(), new=True)
            return True
        if what != "Table":
            return False
        dataset, _, table = rest.partition(".")
        mode = "REPEATED" if kind == "ARRAY" else "NULLABLE"
        plain = "INTEGER" if kind == "ARRAY" else kind
        fields = [{"name": one, "type": plain, "mode": mode} for one in names]
        with self._database.transaction() as cursor:
            self._catalog.create(cursor, Name(project, dataset, table), fields, more={})
        return True

    def close(self) -> None:
        """Close the database."""
        self._parts.close()
        self._platform.close_records()


def whole(statement: str) -> str:
    """The statement; a bare expression, or columns without a table, are selected from one."""
    try:
        tree = sqlglot.parse_one(statement, read="bigquery")
    except Exception:  # noqa: BLE001 - then it is left as it is
        return statement
    if isinstance(tree, (exp.Condition, exp.IgnoreNulls, exp.RespectNulls)):
        return f"SELECT {statement} AS selected FROM made_up"
    if isinstance(tree, exp.Select) and not tree.args.get("from_") and tree.find(exp.Column):
        return str(tree.from_("made_up").sql("bigquery"))
    return statement


def _dataset() -> dict[str, str]:
    return {"location": "US", "creationTime": "0", "lastModifiedTime": "0"}


def _columns(statement: str) -> list[str]:
    try:
        trees = [one for one in sqlglot.parse(statement, read="bigquery") if one]
    except Exception:  # noqa: BLE001 - then it needs no table
        return ["x"]
    names = [column.name for tree in trees for column in tree.find_all(exp.Column) if column.name]
    return list({name.lower(): name for name in names}.values()) or ["x"]


def main(path: str) -> None:
    """Run them all; print the counts, and write them with what did not run."""
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(Path(folder))
        for statement in statements(Path(path).read_text(encoding="utf-8")):
            outcomes.append(cases.run(statement))
        cases.close()
    counts = Counter(outcome for outcome, _, _ in outcomes)
    print(dict(counts), "of", len(outcomes))
    others = [
        {"outcome": outcome, "statement": statement, "said": said[:200]}
        for outcome, statement, said in outcomes
        if outcome != "run"
    ]
    report = {
        "suite": "the BigQuery statements of sqlglot's tests",
        "version": sqlglot.__version__,
        "command": "python -m tests.google.bigquery.sqlglot_cases FILE",
        "counts": {"all": len(outcomes)} | dict(sorted(counts.items())),
        "others": others,
    }
    RESULT.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
