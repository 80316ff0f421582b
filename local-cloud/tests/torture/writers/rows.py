"""Rows of BigQuery's tables, by streaming and by statements."""

from __future__ import annotations

from typing import Any

from local_cloud.json_types import Json
from testing.tally import Tally
from tests.torture.writers.acknowledgements import Key
from tests.torture.writers.writer import Writer

PROJECT = "/bigquery/v2/projects/torture"
APART = 1_000_000_000  # between the rows of two clients
PATIENCE = 60_000  # milliseconds that a statement may take


class RowWriter(Writer):
    """Writes rows (x, y) into a table of its own: x names a row, y may change."""

    kind = "row"

    @property
    def table(self) -> str:
        """The name of the table."""
        return f"t{self.number}"

    def prepare(self) -> None:
        """Make the table."""
        dataset = {"projectId": "torture", "datasetId": "d"}
        self.rig.ask("POST", f"{PROJECT}/datasets", {"datasetReference": dataset})
        fields = [{"name": name, "type": "INTEGER"} for name in ("x", "y")]
        table = {"tableReference": {**dataset, "tableId": self.table}, "schema": {"fields": fields}}
        self.ask("POST", f"{PROJECT}/datasets/d/tables", table)

    def compare(self, tally: Tally) -> None:
        """Read the table; each row must be in it once, and no other."""
        try:
            rows = self._read()
        except OSError as problem:
            tally.breaks(f"{self.table}: {problem}")
            rows = []
        counts: dict[Key, int] = dict(rows)
        self.acknowledged.compare(counts.get, tally)
        tally.check(len(counts) == len(rows), f"{self.table} has rows twice")
        tally.check({*counts} <= self.acknowledged.sent(), f"{self.table} has rows of nobody's")

    def _read(self) -> list[tuple[int, int]]:
        """Return all rows of the table. Raises OSError."""
        rows: list[tuple[int, int]] = []
        token = ""
        while True:
            path = f"{PROJECT}/datasets/d/tables/{self.table}/data?maxResults=10000"
            page = self.ask("GET", f"{path}&pageToken={token}" if token else path)
            for row in page.get("rows", []):
                x, y = (int(cell["v"]) for cell in row["f"])
                rows.append((x, y))
            if not (token := page.get("pageToken", "")):
                return rows


class StreamWriter(RowWriter):
    """Sends rows by insertAll."""

    def write(self, count: int) -> None:
        """Send one to five new rows; all are acknowledged, or none."""
        first = self.number * APART + 10 * count
        rows = {first + more: self.chosen.randrange(APART) for more in range(1 + count % 5)}
        body = {"rows": [{"json": {"x": x, "y": y}} for x, y in rows.items()]}
        with self.acknowledged.write(dict(rows)):
            answer = self.ask("POST", f"{PROJECT}/datasets/d/tables/{self.table}/insertAll", body)
            if "insertErrors" in answer:
                raise OSError(str(answer))


class StatementWriter(RowWriter):
    """Inserts rows by statements, and changes and deletes some of them."""

    def write(self, count: int) -> None:
        """Insert a row; change the one before, or delete it, each every fourth time."""
        x, y = self.number * APART + count, self.chosen.randrange(APART)
        self._run(f"INSERT INTO d.{self.table} VALUES ({x}, {y})", x, y)
        if not self.acknowledged.has(before := x - 1):
            return
        if count % 4 == 0:
            self._run(f"UPDATE d.{self.table} SET y = {y} WHERE x = {before}", before, y)
        elif count % 4 == 2:
            self._run(f"DELETE FROM d.{self.table} WHERE x = {before}", before, None)

    def _run(self, statement: str, x: int, y: int | None) -> None:
        """Run a statement after which row x has y, or is gone."""
        body: Json = {"query": statement, "useLegacySql": False, "timeoutMs": PATIENCE}
        with self.acknowledged.write({x: y}):
            answer: Any = self.ask("POST", f"{PROJECT}/queries", body)
            if not answer["jobComplete"] or "errors" in answer:
                raise OSError(str(answer))
