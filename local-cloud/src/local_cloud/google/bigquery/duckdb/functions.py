"""Functions of BigQuery's that DuckDB lacks, as macros of DuckDB's.

A macro is chosen by the types of its arguments, which DuckDB knows and sqlglot does not: so a
NUMERIC stays one, and a JSON function returns what its input was. No query can name one: rewrites
put them in. Each that raises has a twin for the prefix `SAFE.`, which returns NULL; DuckDB's TRY
refuses error().
"""

from __future__ import annotations

PREFIX = "bq_"
SAFE = "bq_safe_"
NUMERIC = "DECIMAL(38, 9)"
# Not a macro, but farmhash.py: a macro cannot call it, for the file has no functions of Python's.
FINGERPRINT = "fingerprint"
# All digits: in units of 10^-9, rounded half away from zero. DuckDB's quotient is a DOUBLE.
_UNITS = "CAST({} * CAST(1000000000 AS DECIMAL(10, 0)) AS HUGEINT)"
_QUOTIENT = (
    f"list_transform([{{'a': {_UNITS.format('a')} * 1000000000, 'b': {_UNITS.format('b')}}}],"
    " LAMBDA v: CASE WHEN v.b = 0 THEN RAISE ELSE CAST(CAST("
    "sign(v.a) * sign(v.b) * ((2 * abs(v.a) + abs(v.b)) // (2 * abs(v.b))) AS DECIMAL(38, 0))"
    f" * CAST(0.000000001 AS DECIMAL(10, 9)) AS {NUMERIC}) END)[1]"
)
_ONCE = "list_transform([b], LAMBDA v: CASE WHEN v = 0 THEN RAISE ELSE v END)[1]"
_FINITE = "CASE WHEN isfinite({0}) AND NOT isfinite({1}) THEN RAISE ELSE {1} END"
_WHOLE = r"'^\s*[-+]?([0-9]+|0[xX][0-9a-fA-F]+)\s*$'"
_START = "CASE WHEN p = 0 OR p < -length(s) THEN 1 ELSE p END"

# The messages and the limits are ZetaSQL's. An argument stands once in a body: calls are nested.
MOST_ELEMENTS = 1_048_575
_TOO_MANY = f"'Cannot generate arrays with more than {MOST_ELEMENTS} elements.'"
_BOUNDED = (
    "list_transform([{{'s': s, 'n': n}}], LAMBDA p: {} > 1048576 THEN RAISE"
    " ELSE CAST(p.n AS INTEGER) END))[1]"
)
_PADDED = (
    "list_transform([{{'s': s, 'n': n, 'f': f}}], LAMBDA p: {}(p.s, CASE WHEN p.n > 1048576"
    " THEN RAISE ELSE CAST(p.n AS INTEGER) END, p.f))[1]"
)


def _finite(function: str, call: str) -> tuple[str, str, str]:
    """Return a function of floats that raises where its result is none."""
    body = _FINITE.format("CAST(x AS DOUBLE)", call)
    return "x", body, f"'Floating point error in function: {function}'"


# name -> (parameters, body, message) for each overload; RAISE in a body is where it raises.
RAISING: dict[str, list[tuple[str, str, str]]] = {
    "divide": [
        ("a DOUBLE, b DOUBLE", "CASE WHEN b = 0 THEN RAISE ELSE a / b END", "'division by zero'"),
        (f"a {NUMERIC}, b {NUMERIC}", _QUOTIENT, "'division by zero'"),
    ],
    # The divisor stands once in the body: for one that holds a division itself.
    "divide_once": [
        ("a DOUBLE, b DOUBLE", f"a / {_ONCE}", "'division by zero'"),
        (f"a {NUMERIC}, b {NUMERIC}", _QUOTIENT, "'division by zero'"),
    ],
    # Of aggregates, whose types DuckDB does not know yet when it chooses a macro.
    "divide_any": [("a, b", "CASE WHEN b = 0 THEN RAISE ELSE a / b END", "'division by zero'")],
    "sqrt": [_finite("SQRT", "sqrt(CAST(x AS DOUBLE))")],
    "exp": [_finite("EXP", "exp(CAST(x AS DOUBLE))")],
    "ln": [
        (
            "x",
            "CASE WHEN CAST(x AS DOUBLE) <= 0 THEN RAISE ELSE ln(CAST(x AS DOUBLE)) END",
            "'Floating point error in function: LN'",
        )
    ],
    "log": [
        (
            "x, b",
            "CASE WHEN CAST(x AS DOUBLE) <= 0 OR CAST(b AS DOUBLE) <= 0 OR CAST(b AS DOUBLE) = 1"
            " THEN RAISE ELSE ln(CAST(x AS DOUBLE)) / ln(CAST(b AS DOUBLE)) END",
            "'Floating point error in function: LOG'",
        )
    ],
    "log10": [
        (
            "x",
            "CASE WHEN CAST(x AS DOUBLE) <= 0 THEN RAISE ELSE log10(CAST(x AS DOUBLE)) END",
            "'Floating point error in function: LOG10'",
        )
    ],
    "pow": [
        (
            "x, y",
            _FINITE.format("(CAST(x AS DOUBLE) + CAST(y AS DOUBLE))", "pow(x, y)"),
            "'Floating point error in function: POW'",
        )
    ],
    "int64": [
        (
            "x",
            "CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT')"
            " THEN CAST(round(TRY_CAST(x AS DOUBLE)) AS BIGINT)"
            f" WHEN typeof(x) = 'VARCHAR' AND NOT regexp_matches(CAST(x AS VARCHAR), {_WHOLE})"
            " THEN RAISE ELSE CAST(x AS BIGINT) END",
            "'Bad int64 value: ' || CAST(x AS VARCHAR)",
        )
    ],
    "bool": [
        (
            "x VARCHAR",
            "CASE lower(x) WHEN 'true' THEN true WHEN 'false' THEN false ELSE"
            " CASE WHEN x IS NOT NULL THEN RAISE END END",
            "'Bad bool value: ' || x",
        ),
        ("x BOOLEAN", "x", ""),
        ("x BIGINT", "x <> 0", ""),
    ],
    "substr": [
        ("s, p", f"substring(s, {_START})", ""),
        (
            "s, p, n",
            "CASE WHEN n < 0 THEN RAISE ELSE"
            + f" substring(s, {_START}, least(n, 4294967295)) END",
            "'Third argument in SUBSTR() cannot be negative'",
        ),
    ],
    "at": [
        (
            "a, i",
            "CASE WHEN i < 0 OR i >= len(a) THEN RAISE ELSE a[i + 1] END",
            "'Array index ' || i || ' is out of bounds'",
        )
    ],
    "repeat": [
        (
            "s, n",
            _BOUNDED.format("repeat(p.s, CASE WHEN p.n * strlen(CAST(p.s AS VARCHAR))"),
            "'Output of REPEAT exceeds max allowed output size of 1MB'",
        )
    ],
    "lpad": [
        (
            "s, n, f",
            _PADDED.format("lpad"),
            "'Output of LPAD exceeds max allowed output size of 1MB'",
        )
    ],
    "rpad": [
        (
            "s, n, f",
            _PADDED.format("rpad"),
            "'Output of RPAD exceeds max allowed output size of 1MB'",
        )
    ],
    "series": [
        (
            "a BIGINT, b BIGINT, c BIGINT",
            f"generate_series(a, CASE WHEN abs((b - a) / c) >= {MOST_ELEMENTS}"
            " THEN RAISE ELSE b END, c)",
            _TOO_MANY,
        ),
        (
            "a DOUBLE, b DOUBLE, c DOUBLE",
            f"list_transform(generate_series(0, CASE WHEN abs((b - a) / c) >= {MOST_ELEMENTS}"
            " THEN RAISE ELSE CAST(floor((b - a) / c) AS BIGINT) END), LAMBDA i: a + i * c)",
            _TOO_MANY,
        ),
    ],
    "series_of_times": [
        (
            "a, b, c",
            f"generate_series(a, CASE WHEN abs((epoch(b) - epoch(a)) / epoch(c)) >= {MOST_ELEMENTS}"
            " THEN RAISE ELSE b END, c)",
            _TOO_MANY,
        )
    ],
}
PLAIN: dict[str, list[tuple[str, str]]] = {
    # The mean of a NUMERIC; one without rows is NULL.
    "mean": [
        ("a, b", _QUOTIENT.replace("RAISE", "NULL")),
    ],
    "multiply": [
        ("a BIGINT, b BIGINT", "a * b"),
        ("a DOUBLE, b DOUBLE", "a * b"),
        (f"a {NUMERIC}, b {NUMERIC}", f"CAST(a * b AS {NUMERIC})"),
    ],
    # The fewest of 15 or 17 digits from which the number comes back, as C's %g writes them.
    "float_text": [
        (
            "x",
            "CASE WHEN TRY_CAST(printf('%.15g', x) AS DOUBLE) = x"
            " THEN printf('%.15g', x) ELSE printf('%.17g', x) END",
        )
    ],
    "text": [
        (
            "x",
            "CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN bq_float_text(TRY_CAST(x AS DOUBLE))"
            " WHEN typeof(x) LIKE 'DECIMAL%' AND CAST(x AS VARCHAR) LIKE '%.%'"
            " THEN rtrim(rtrim(CAST(x AS VARCHAR), '0'), '.') ELSE CAST(x AS VARCHAR) END",
        )
    ],
    "zoned_text": [
        (
            "x, zone",
            "CAST(x AT TIME ZONE zone AS VARCHAR) || bq_offset_text("
            "date_diff('minute', x AT TIME ZONE 'UTC', x AT TIME ZONE zone))",
        )
    ],
    "offset_text": [
        (
            "m",
            "CASE WHEN m < 0 THEN '-' ELSE '+' END || lpad(CAST(abs(m) // 60 AS VARCHAR), 2, '0')"
            " || CASE WHEN m % 60 = 0 THEN ''"
            " ELSE ':' || lpad(CAST(abs(m) % 60 AS VARCHAR), 2, '0') END",
        )
    ],
    "bytes": [("x VARCHAR", "encode(x)"), ("x BLOB", "x")],
    "byte_length": [("x VARCHAR", "strlen(x)"), ("x BLOB", "octet_length(x)")],
    # What is taken out of a STRING is one, out of JSON is JSON.
    "like_input": [("v, x JSON", "v"), ("v, x VARCHAR", "CAST(v AS VARCHAR)")],
    "each_like_input": [("v, x JSON", "v"), ("v, x VARCHAR", "CAST(v AS VARCHAR[])")],
    "json_type": [
        (
            "x",
            "CASE json_type(x) WHEN 'VARCHAR' THEN 'string' WHEN 'BOOLEAN' THEN 'boolean'"
            " WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array' WHEN 'NULL' THEN 'null'"
            " WHEN NULL THEN NULL ELSE CASE WHEN x IS NOT NULL THEN 'number' END END",
        )
    ],
}


def names() -> frozenset[str]:
    """Return how they are called."""
    raising = {way + name for name in RAISING for way in (PREFIX, SAFE)}
    return frozenset(raising | {PREFIX + name for name in (*PLAIN, FINGERPRINT)})


def macros() -> list[str]:
    """Return the statements that make them all."""
    found = [_macro(PREFIX + name, overloads) for name, overloads in PLAIN.items()]
    for name, overloads in RAISING.items():
        raising = [(said, body.replace("RAISE", f"error({why})")) for said, body, why in overloads]
        found.append(_macro(PREFIX + name, raising))
        silent = [(said, _silent(body)) for said, body, _ in overloads]
        found.append(_macro(SAFE + name, silent))
    return found


def _silent(body: str) -> str:
    tried = body.replace("RAISE", "NULL").replace("CAST(", "TRY_CAST(")
    return tried.replace("TRY_TRY_", "TRY_")


def _macro(name: str, overloads: list[tuple[str, str]]) -> str:
    bodies = ", ".join(f"({said}) AS {body}" for said, body in overloads)
    return f"CREATE OR REPLACE MACRO {name} {bodies}"
