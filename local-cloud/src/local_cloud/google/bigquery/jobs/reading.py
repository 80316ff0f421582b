"""What a load job's files hold, as one query: by a schema, or as they look (autodetect)."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from local_cloud.bounded import files
from local_cloud.bounded.errors import OverLimit
from local_cloud.google.bigquery.api.errors import invalid, not_implemented
from local_cloud.google.bigquery.api.types import Field, duckdb_type, field_of, quote
from local_cloud.google.bigquery.jobs.load_settings import ENCODINGS

GZIP = b"\x1f\x8b"
KEPT_TEXT = {"STRING", "JSON"}
# How columns without a name are called by their types, where that is not the type's own name; as
# public questions about headerless files show them: int64_field_0, double_field_1, bool_field_2.
GENERATED = {"INTEGER": "int64", "FLOAT": "double", "BOOLEAN": "bool", "DATETIME": "timestamp"}
LETTERS = ("t", "f", "y", "n")  # that are truth values too


class Source:
    """`sql` with its `values` selects the rows of the files; `fields` are their columns."""

    def __init__(
        self, reader: Any, settings: dict[str, Any], files: list[Path], *, fields: list[Field]
    ) -> None:
        """fields: the schema; [] to have it detected."""
        self._reader, self._settings = reader, settings
        self.values: list[Any] = [[str(file) for file in files]]
        self._header: list[str] | None = None  # the first row of a CSV file
        self._zipped = bool(files) and _starts(files[0]) == GZIP
        kind = str(settings.get("sourceFormat") or "CSV")
        if kind == "CSV":
            self._csv(fields, files)
        elif kind == "NEWLINE_DELIMITED_JSON":
            self._json(fields)
        elif kind == "PARQUET":
            self._select("read_parquet(?)", fields)
        else:
            raise not_implemented(f"load jobs with sourceFormat {kind}")

    def _csv(self, fields: list[Field], sources: list[Path]) -> None:
        given = self._settings
        said: dict[str, Any] = {
            "delim": str(given.get("fieldDelimiter") or ",").replace("\\t", "\t"),
            "quote": given["quote"] if given.get("quote") is not None else '"',
            "escape": '"',
            "nullstr": given.get("nullMarkers") or str(given.get("nullMarker") or ""),
            "allow_quoted_nulls": False,
            "null_padding": bool(given.get("allowJaggedRows")),
            "compression": "gzip" if self._zipped else "none",
            "encoding": ENCODINGS.get(str(given.get("encoding")), "utf-8"),
        }
        if said["delim"].lower() == "tab":
            said["delim"] = "\t"
        for name, text, most in (("fieldDelimiter", "delim", 1), ("quote", "quote", 1)):
            if len(said[text]) > most:
                raise invalid(f"Invalid value for {name}: {said[text]!r} is not one character")
        if given.get("ignoreUnknownValues"):
            raise not_implemented("load jobs of CSV with ignoreUnknownValues")
        skip = _whole(given, "skipLeadingRows")
        if not fields:
            self._detect_csv(said, sources[0], skip)
            return
        if any(one["mode"] == "REPEATED" or one["type"] == "RECORD" for one in fields):
            raise invalid("CSV files cannot hold REPEATED or RECORD fields")
        self._csv_by_schema(said | {"skip": skip}, fields)

    def _csv_by_schema(self, said: dict[str, Any], fields: list[Field]) -> None:
        said |= {"header": False, "auto_detect": False}
        said["columns"] = {f"c{place}": "VARCHAR" for place in range(len(fields))}
        most_bad = _whole(self._settings, "maxBadRecords")
        if most_bad:
            said["store_rejects"] = True
        table = self._call("read_csv", said)
        if most_bad:
            good = " AND ".join(_is_good(f"c{place}", one) for place, one in enumerate(fields))
            self._require_few_bad(table, good, most_bad)
            table = f"{table} WHERE {good}"
        columns = [_parse(f"c{place}", one) for place, one in enumerate(fields)]
        self.sql, self.fields = f"SELECT {', '.join(columns)} FROM {table}", fields

    def _require_few_bad(self, table: str, good: str, most: int) -> None:
        """Refuse files with more rows than the job allows that do not fit the schema."""
        counts = f"SELECT count(*), count(*) FILTER (NOT ({good})) FROM {table}"
        whole, bad = self._reader.execute(counts, self.values).fetchall()[0]
        lines = "SELECT count(DISTINCT (file_id, line)) FROM reject_errors"
        (cut,) = self._reader.execute(lines).fetchall()[0]
        self._reader.execute("DROP TABLE reject_errors")
        self._reader.execute("DROP TABLE reject_scans")
        if bad + cut > most:
            raise invalid(
                "Error while reading data, error message: CSV table encountered too many errors,"
                f" giving up. Rows: {whole + cut}; errors: {bad + cut}."
            )

    def _detect_csv(self, said: dict[str, Any], file: Path, skip: int) -> None:
        """Detect names and types, as JobConfigurationLoad.skipLeadingRows says.

        A first row of words above other rows that are not only words is a header. A row to skip
        is skipped, header or not; without one, what is not a header is data.
        """
        first, second = self._first_rows(said, file, max(0, skip - 1))
        if not second:
            self._header = first
            more = {"skip": max(0, skip - 1), "header": True} if skip else {}
            self._select(self._call("read_csv", said | more), [], detected=True)
            return
        kept = list(self.values)
        start = max(1, skip)
        below = self._call("read_csv", said | {"skip": start, "header": False})
        description = self._reader.execute(
            f"SELECT * FROM {below} LIMIT 0", self.values
        ).description
        kinds = [field_of("x", one[1])["type"] for one in description]
        is_told = "skipLeadingRows" in self._settings and skip == 0
        # "y" and "t" are truth values, but above numbers or texts they are names.
        names = [
            value
            for value, kind in zip_longest(first, kinds, fillvalue="")
            if kind == "BOOLEAN" or value.lower() not in LETTERS
        ]
        is_header = not is_told and any(kind != "STRING" for kind in kinds) and self._words(names)
        self.values = kept
        begin = start if is_header or skip else 0
        table = self._call("read_csv", said | {"skip": begin, "header": False})
        self._header = first
        self._select(table, [], detected=True, names=first if is_header else None)

    def _words(self, row: list[str]) -> bool:
        """Return whether none of the values is a number, a truth value or a time."""
        kinds = ("DOUBLE", "BOOLEAN", "TIMESTAMP", "TIME")
        test = " OR ".join(f"TRY_CAST(x AS {kind}) IS NOT NULL" for kind in kinds)
        query = f"SELECT count(*) FROM (SELECT unnest(?) AS x) WHERE {test}"
        (others,) = self._reader.execute(query, [row]).fetchall()[0]
        return not others

    def _first_rows(
        self, said: dict[str, Any], file: Path, skip: int
    ) -> tuple[list[str], list[str]]:
        """Return two rows: DuckDB drops the first if it has fewer columns than those after it."""
        opened = gzip.open if self._zipped else open
        with opened(file, "rt", encoding=said["encoding"], errors="replace", newline="") as text:
            quote = said["quote"] or None
            rows = files.rows(
                text,
                delimiter=said["delim"],
                quotechar=quote,
                quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            )
            try:
                first, second = [*islice(rows, skip, skip + 2), [], []][:2]
                return first, second
            except (csv.Error, EOFError, OSError, zlib.error, OverLimit) as problem:
                raise invalid(f"Error while reading data, error message: {problem}") from None

    def _json(self, fields: list[Field]) -> None:
        said: dict[str, Any] = {
            "format": "newline_delimited",
            "compression": "gzip" if self._zipped else "none",
            "maximum_object_size": 100 << 20,
        }
        if fields:
            rows = f"read_ndjson_objects(?, compression = '{said['compression']}')"
            keys = f"SELECT DISTINCT unnest(json_keys(json)) FROM {rows}"
            keys_read = self._reader.execute(keys, self.values).fetchall()
            names = [str(key) for (key,) in keys_read]
            self._no_other(names, fields)
            there = {name.lower(): name for name in names}  # a field's name in whatever case
            keys_of = [there.get(one["name"].lower()) or str(one["name"]) for one in fields]
            pairs = [*zip(keys_of, fields, strict=True)]
            said["columns"] = {key: _json_type(one) for key, one in pairs}
            table = self._call("read_json", said)
            columns = [_parse(key, one, r"[-+]?\d+(\.0+)?") for key, one in pairs]
            self.sql, self.fields = f"SELECT {', '.join(columns)} FROM {table}", fields
            return
        self._select(self._call("read_json", said), [], detected=True)

    def _select(
        self,
        table: str,
        fields: list[Field],
        *,
        detected: bool = False,
        names: list[str] | None = None,
    ) -> None:
        description = self._reader.execute(
            f"SELECT * FROM {table} LIMIT 0", self.values
        ).description
        there = {one[0].lower(): one for one in description}
        if not fields:
            made = self._name_columns(description) if detected else [one[0] for one in description]
            names = _names(names or made)
            own = [field_of(new, one[1]) for new, one in zip(names, description, strict=True)]
            for one in own:
                if detected and one["type"] == "DATETIME":
                    one["type"] = "TIMESTAMP"
            pairs = zip(description, own, strict=True)
            columns = [f"{quote(old[0])} AS {quote(new['name'])}" for old, new in pairs]
            self.sql, self.fields = f"SELECT {', '.join(columns)} FROM {table}", own
            return
        self._no_other([one[0] for one in description], fields)
        chosen = []
        for one in fields:
            if one["name"].lower() in there:
                chosen.append(f"{quote(there[one['name'].lower()][0])} AS {quote(one['name'])}")
            elif one["mode"] == "REQUIRED":
                raise invalid(f"the files have no column {one['name']}, which is required")
            else:
                chosen.append(f"CAST(NULL AS {duckdb_type(one)}) AS {quote(one['name'])}")
        self.sql, self.fields = f"SELECT {', '.join(chosen)} FROM {table}", fields

    def _name_columns(self, description: list[Any]) -> list[str]:
        """Return the names of detected columns; without a header, those that BigQuery makes."""
        names = [str(one[0]) for one in description]
        if self._header is None:
            return names
        if len(self._header) != len(description):
            raise invalid(
                "Error while reading data, error message: the first row has"
                f" {len(self._header)} columns, and others have {len(description)}"
            )
        if names != [f"column{place}" for place in range(len(names))] or names == self._header:
            return names
        types = [field_of("x", one[1])["type"] for one in description]
        return [
            f"{GENERATED.get(kind, kind.lower())}_field_{place}" for place, kind in enumerate(types)
        ]

    def _no_other(self, names: list[str], fields: list[Field]) -> None:
        """Refuse columns that the schema does not have, unless the job ignores these."""
        known = {one["name"].lower() for one in fields}
        other = sorted(name for name in names if name.lower() not in known)
        if other and not self._settings.get("ignoreUnknownValues"):
            raise invalid(f"Error while reading data, error message: No such field: {other[0]}.")

    def _call(self, function: str, said: dict[str, Any]) -> str:
        """Return the call of a reader, its options as parameters."""
        self.values += list(said.values())
        return f"{function}(?, {', '.join(f'{name} = ?' for name in said)})"


def _whole(settings: dict[str, Any], name: str) -> int:
    try:
        return int(settings.get(name) or 0)
    except ValueError:
        raise invalid(f"Invalid value for {name}: not a number") from None


def _is_good(column: str, field: Field) -> str:
    """Return the condition that a column of text fits the field's type."""
    quoted = quote(column)
    match field["type"]:
        case "STRING" | "JSON":
            fits = "true"
        case "INTEGER":
            whole = f"regexp_full_match({quoted}, '\\s*[-+]?\\d+\\s*')"
            fits = f"{whole} AND TRY_CAST({quoted} AS BIGINT) IS NOT NULL"
        case "BYTES":
            fits = f"TRY(from_base64({quoted})) IS NOT NULL"
        case _:
            fits = f"TRY_CAST({quoted} AS {duckdb_type(field)}) IS NOT NULL"
    if field["mode"] == "REQUIRED":
        return f"({quoted} IS NOT NULL AND {fits})"
    return f"({quoted} IS NULL OR {fits})"


def _starts(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(2)


def _parse(column: str, field: Field, whole: str = r"\s*[-+]?\d+\s*") -> str:
    """Return a column of text as the field's type.

    whole: how an INTEGER looks, which is not rounded.
    """
    expression = quote(column)
    if field["type"] == "INTEGER" and field["mode"] != "REPEATED":
        said = f"error('Could not parse ''' || {expression} || ''' as INT64')"
        fits = f"{expression} IS NULL OR regexp_full_match({expression}, '{whole}')"
        expression = f"CAST(CASE WHEN {fits} THEN {expression} ELSE {said} END AS BIGINT)"
    elif field["type"] == "BYTES" and field["mode"] != "REPEATED":
        expression = f"from_base64({expression})"
    elif field["type"] not in KEPT_TEXT:
        expression = f"CAST({expression} AS {duckdb_type(field)})"
    return f"{expression} AS {quote(field['name'])}"


def _json_type(field: Field) -> str:
    if field["type"] in ("BYTES", "INTEGER") and field["mode"] != "REPEATED":
        return "VARCHAR"
    return duckdb_type(field)


def _names(words: list[str]) -> list[str]:
    """Return names that BigQuery can have, each one once."""
    names: list[str] = []
    for one in words:
        name = re.sub(r"\W", "_", one) or "_"
        name = f"_{name}" if name[0].isdigit() else name
        while name.lower() in {known.lower() for known in names}:
            name += "_"
        names.append(name)
    return names
