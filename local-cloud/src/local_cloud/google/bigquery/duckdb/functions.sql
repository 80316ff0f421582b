-- Functions of BigQuery's that DuckDB lacks, as macros of DuckDB's; functions.py reads their names.
--
-- A macro is chosen by the types of its arguments, which DuckDB knows and sqlglot does not: so a
-- NUMERIC stays one, and a JSON function returns what its input was. Each that raises has a twin for
-- the prefix `SAFE.`, bq_safe_…, which returns NULL: DuckDB's TRY refuses error().
-- An argument stands as seldom as possible in a body: calls are nested.
-- The messages and the limits are ZetaSQL's.

-- Division ----------------------------------------------------------------------------------------

-- All digits: in units of 10^-9, rounded half away from zero. DuckDB's quotient is a DOUBLE.
CREATE OR REPLACE MACRO bq_quotient_in_units(a, b, otherwise) AS
    list_transform(
        [{
            'a': CAST(a * CAST(1000000000 AS DECIMAL(10, 0)) AS HUGEINT) * 1000000000,
            'b': CAST(b * CAST(1000000000 AS DECIMAL(10, 0)) AS HUGEINT)
        }],
        LAMBDA v: CASE WHEN v.b = 0 THEN otherwise
            ELSE sign(v.a) * sign(v.b) * ((2 * abs(v.a) + abs(v.b)) // (2 * abs(v.b))) END
    )[1];
CREATE OR REPLACE MACRO bq_from_units(units) AS
    CAST(CAST(units AS DECIMAL(38, 0)) * CAST(0.000000001 AS DECIMAL(10, 9)) AS DECIMAL(38, 9));
CREATE OR REPLACE MACRO bq_safe_from_units(units) AS
    TRY_CAST(
        TRY_CAST(units AS DECIMAL(38, 0)) * CAST(0.000000001 AS DECIMAL(10, 9)) AS DECIMAL(38, 9)
    );

CREATE OR REPLACE MACRO bq_divide
    (a DOUBLE, b DOUBLE) AS CASE WHEN b = 0 THEN error('division by zero') ELSE a / b END,
    (a DECIMAL(38, 9), b DECIMAL(38, 9)) AS
        bq_from_units(bq_quotient_in_units(a, b, error('division by zero')));
CREATE OR REPLACE MACRO bq_safe_divide
    (a DOUBLE, b DOUBLE) AS CASE WHEN b = 0 THEN NULL ELSE a / b END,
    (a DECIMAL(38, 9), b DECIMAL(38, 9)) AS
        bq_safe_from_units(bq_quotient_in_units(a, b, NULL));

-- The divisor stands once in the body: for one that holds a division itself.
CREATE OR REPLACE MACRO bq_divide_once
    (a DOUBLE, b DOUBLE) AS
        a / list_transform(
            [b], LAMBDA v: CASE WHEN v = 0 THEN error('division by zero') ELSE v END
        )[1],
    (a DECIMAL(38, 9), b DECIMAL(38, 9)) AS
        bq_from_units(bq_quotient_in_units(a, b, error('division by zero')));
CREATE OR REPLACE MACRO bq_safe_divide_once
    (a DOUBLE, b DOUBLE) AS
        a / list_transform([b], LAMBDA v: CASE WHEN v = 0 THEN NULL ELSE v END)[1],
    (a DECIMAL(38, 9), b DECIMAL(38, 9)) AS
        bq_safe_from_units(bq_quotient_in_units(a, b, NULL));

-- Of aggregates, whose types DuckDB does not know yet when it chooses a macro.
CREATE OR REPLACE MACRO bq_divide_any(a, b) AS
    CASE WHEN b = 0 THEN error('division by zero') ELSE a / b END;
CREATE OR REPLACE MACRO bq_safe_divide_any(a, b) AS CASE WHEN b = 0 THEN NULL ELSE a / b END;

-- The mean of a NUMERIC; one without rows is NULL.
CREATE OR REPLACE MACRO bq_mean(a, b) AS bq_from_units(bq_quotient_in_units(a, b, NULL));

CREATE OR REPLACE MACRO bq_multiply
    (a BIGINT, b BIGINT) AS a * b,
    (a DOUBLE, b DOUBLE) AS a * b,
    (a DECIMAL(38, 9), b DECIMAL(38, 9)) AS CAST(a * b AS DECIMAL(38, 9));

-- Functions of floats: they raise where their result is none ---------------------------------------

CREATE OR REPLACE MACRO bq_sqrt(x) AS
    CASE WHEN isfinite(CAST(x AS DOUBLE)) AND NOT isfinite(sqrt(CAST(x AS DOUBLE)))
        THEN error('Floating point error in function: SQRT') ELSE sqrt(CAST(x AS DOUBLE)) END;
CREATE OR REPLACE MACRO bq_safe_sqrt(x) AS
    CASE WHEN isfinite(TRY_CAST(x AS DOUBLE)) AND NOT isfinite(sqrt(TRY_CAST(x AS DOUBLE)))
        THEN NULL ELSE sqrt(TRY_CAST(x AS DOUBLE)) END;

CREATE OR REPLACE MACRO bq_exp(x) AS
    CASE WHEN isfinite(CAST(x AS DOUBLE)) AND NOT isfinite(exp(CAST(x AS DOUBLE)))
        THEN error('Floating point error in function: EXP') ELSE exp(CAST(x AS DOUBLE)) END;
CREATE OR REPLACE MACRO bq_safe_exp(x) AS
    CASE WHEN isfinite(TRY_CAST(x AS DOUBLE)) AND NOT isfinite(exp(TRY_CAST(x AS DOUBLE)))
        THEN NULL ELSE exp(TRY_CAST(x AS DOUBLE)) END;

CREATE OR REPLACE MACRO bq_ln(x) AS
    CASE WHEN CAST(x AS DOUBLE) <= 0
        THEN error('Floating point error in function: LN') ELSE ln(CAST(x AS DOUBLE)) END;
CREATE OR REPLACE MACRO bq_safe_ln(x) AS
    CASE WHEN TRY_CAST(x AS DOUBLE) <= 0 THEN NULL ELSE ln(TRY_CAST(x AS DOUBLE)) END;

CREATE OR REPLACE MACRO bq_log(x, b) AS
    CASE WHEN CAST(x AS DOUBLE) <= 0 OR CAST(b AS DOUBLE) <= 0 OR CAST(b AS DOUBLE) = 1
        THEN error('Floating point error in function: LOG')
        ELSE ln(CAST(x AS DOUBLE)) / ln(CAST(b AS DOUBLE)) END;
CREATE OR REPLACE MACRO bq_safe_log(x, b) AS
    CASE WHEN TRY_CAST(x AS DOUBLE) <= 0 OR TRY_CAST(b AS DOUBLE) <= 0 OR TRY_CAST(b AS DOUBLE) = 1
        THEN NULL ELSE ln(TRY_CAST(x AS DOUBLE)) / ln(TRY_CAST(b AS DOUBLE)) END;

CREATE OR REPLACE MACRO bq_log10(x) AS
    CASE WHEN CAST(x AS DOUBLE) <= 0
        THEN error('Floating point error in function: LOG10') ELSE log10(CAST(x AS DOUBLE)) END;
CREATE OR REPLACE MACRO bq_safe_log10(x) AS
    CASE WHEN TRY_CAST(x AS DOUBLE) <= 0 THEN NULL ELSE log10(TRY_CAST(x AS DOUBLE)) END;

CREATE OR REPLACE MACRO bq_pow(x, y) AS
    CASE WHEN isfinite(CAST(x AS DOUBLE) + CAST(y AS DOUBLE)) AND NOT isfinite(pow(x, y))
        THEN error('Floating point error in function: POW') ELSE pow(x, y) END;
CREATE OR REPLACE MACRO bq_safe_pow(x, y) AS
    CASE WHEN isfinite(TRY_CAST(x AS DOUBLE) + TRY_CAST(y AS DOUBLE)) AND NOT isfinite(pow(x, y))
        THEN NULL ELSE pow(x, y) END;

-- Conversions --------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO bq_is_no_whole_number(x) AS
    typeof(x) = 'VARCHAR'
    AND NOT regexp_matches(CAST(x AS VARCHAR), '^\s*[-+]?([0-9]+|0[xX][0-9a-fA-F]+)\s*$');
CREATE OR REPLACE MACRO bq_int64(x) AS
    CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN CAST(round(TRY_CAST(x AS DOUBLE)) AS BIGINT)
        WHEN bq_is_no_whole_number(x) THEN error('Bad int64 value: ' || CAST(x AS VARCHAR))
        ELSE CAST(x AS BIGINT) END;
CREATE OR REPLACE MACRO bq_safe_int64(x) AS
    CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN TRY_CAST(round(TRY_CAST(x AS DOUBLE)) AS BIGINT)
        WHEN bq_is_no_whole_number(x) THEN NULL
        ELSE TRY_CAST(x AS BIGINT) END;

CREATE OR REPLACE MACRO bq_bool
    (x VARCHAR) AS
        CASE lower(x) WHEN 'true' THEN true WHEN 'false' THEN false
            ELSE CASE WHEN x IS NOT NULL THEN error('Bad bool value: ' || x) END END,
    (x BOOLEAN) AS x,
    (x BIGINT) AS x <> 0;
CREATE OR REPLACE MACRO bq_safe_bool
    (x VARCHAR) AS CASE lower(x) WHEN 'true' THEN true WHEN 'false' THEN false END,
    (x BOOLEAN) AS x,
    (x BIGINT) AS x <> 0;

-- The fewest of 15 or 17 digits from which the number comes back, as C's %g writes them.
CREATE OR REPLACE MACRO bq_float_text(x) AS
    CASE WHEN TRY_CAST(printf('%.15g', x) AS DOUBLE) = x
        THEN printf('%.15g', x) ELSE printf('%.17g', x) END;
CREATE OR REPLACE MACRO bq_text(x) AS
    CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN bq_float_text(TRY_CAST(x AS DOUBLE))
        WHEN typeof(x) LIKE 'DECIMAL%' AND CAST(x AS VARCHAR) LIKE '%.%'
        THEN rtrim(rtrim(CAST(x AS VARCHAR), '0'), '.')
        ELSE CAST(x AS VARCHAR) END;
CREATE OR REPLACE MACRO bq_offset_text(m) AS
    CASE WHEN m < 0 THEN '-' ELSE '+' END || lpad(CAST(abs(m) // 60 AS VARCHAR), 2, '0')
    || CASE WHEN m % 60 = 0 THEN '' ELSE ':' || lpad(CAST(abs(m) % 60 AS VARCHAR), 2, '0') END;
CREATE OR REPLACE MACRO bq_zoned_text(x, zone) AS
    CAST(x AT TIME ZONE zone AS VARCHAR)
    || bq_offset_text(date_diff('minute', x AT TIME ZONE 'UTC', x AT TIME ZONE zone));
CREATE OR REPLACE MACRO bq_bytes
    (x VARCHAR) AS encode(x),
    (x BLOB) AS x;
CREATE OR REPLACE MACRO bq_byte_length
    (x VARCHAR) AS strlen(x),
    (x BLOB) AS octet_length(x);

-- Texts --------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO bq_start(s, p) AS CASE WHEN p = 0 OR p < -length(s) THEN 1 ELSE p END;
CREATE OR REPLACE MACRO bq_substr
    (s, p) AS substring(s, bq_start(s, p)),
    (s, p, n) AS
        CASE WHEN n < 0 THEN error('Third argument in SUBSTR() cannot be negative')
            ELSE substring(s, bq_start(s, p), least(n, 4294967295)) END;
CREATE OR REPLACE MACRO bq_safe_substr
    (s, p) AS substring(s, bq_start(s, p)),
    (s, p, n) AS
        CASE WHEN n < 0 THEN NULL
            ELSE substring(s, bq_start(s, p), least(n, 4294967295)) END;

CREATE OR REPLACE MACRO bq_repeat(s, n) AS
    list_transform([{'s': s, 'n': n}], LAMBDA p: repeat(p.s,
        CASE WHEN p.n * strlen(CAST(p.s AS VARCHAR)) > 1048576
            THEN error('Output of REPEAT exceeds max allowed output size of 1MB')
            ELSE CAST(p.n AS INTEGER) END))[1];
CREATE OR REPLACE MACRO bq_safe_repeat(s, n) AS
    list_transform([{'s': s, 'n': n}], LAMBDA p: repeat(p.s,
        CASE WHEN p.n * strlen(TRY_CAST(p.s AS VARCHAR)) > 1048576
            THEN NULL ELSE TRY_CAST(p.n AS INTEGER) END))[1];

CREATE OR REPLACE MACRO bq_lpad(s, n, f) AS
    list_transform([{'s': s, 'n': n, 'f': f}], LAMBDA p: lpad(p.s, CASE WHEN p.n > 1048576
        THEN error('Output of LPAD exceeds max allowed output size of 1MB')
        ELSE CAST(p.n AS INTEGER) END, p.f))[1];
CREATE OR REPLACE MACRO bq_safe_lpad(s, n, f) AS
    list_transform([{'s': s, 'n': n, 'f': f}], LAMBDA p: lpad(p.s, CASE WHEN p.n > 1048576
        THEN NULL ELSE TRY_CAST(p.n AS INTEGER) END, p.f))[1];

CREATE OR REPLACE MACRO bq_rpad(s, n, f) AS
    list_transform([{'s': s, 'n': n, 'f': f}], LAMBDA p: rpad(p.s, CASE WHEN p.n > 1048576
        THEN error('Output of RPAD exceeds max allowed output size of 1MB')
        ELSE CAST(p.n AS INTEGER) END, p.f))[1];
CREATE OR REPLACE MACRO bq_safe_rpad(s, n, f) AS
    list_transform([{'s': s, 'n': n, 'f': f}], LAMBDA p: rpad(p.s, CASE WHEN p.n > 1048576
        THEN NULL ELSE TRY_CAST(p.n AS INTEGER) END, p.f))[1];

-- Arrays -------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO bq_at(a, i) AS
    CASE WHEN i < 0 OR i >= len(a)
        THEN error('Array index ' || i || ' is out of bounds') ELSE a[i + 1] END;
CREATE OR REPLACE MACRO bq_safe_at(a, i) AS
    CASE WHEN i < 0 OR i >= len(a) THEN NULL ELSE a[i + 1] END;

CREATE OR REPLACE MACRO bq_series
    (a BIGINT, b BIGINT, c BIGINT) AS
        generate_series(a, CASE WHEN abs((b - a) / c) >= 1048575
            THEN error('Cannot generate arrays with more than 1048575 elements.') ELSE b END, c),
    (a DOUBLE, b DOUBLE, c DOUBLE) AS
        list_transform(
            generate_series(0, CASE WHEN abs((b - a) / c) >= 1048575
                THEN error('Cannot generate arrays with more than 1048575 elements.')
                ELSE CAST(floor((b - a) / c) AS BIGINT) END),
            LAMBDA i: a + i * c
        );
CREATE OR REPLACE MACRO bq_safe_series
    (a BIGINT, b BIGINT, c BIGINT) AS
        generate_series(a, CASE WHEN abs((b - a) / c) >= 1048575 THEN NULL ELSE b END, c),
    (a DOUBLE, b DOUBLE, c DOUBLE) AS
        list_transform(
            generate_series(0, CASE WHEN abs((b - a) / c) >= 1048575
                THEN NULL ELSE TRY_CAST(floor((b - a) / c) AS BIGINT) END),
            LAMBDA i: a + i * c
        );

CREATE OR REPLACE MACRO bq_series_of_times(a, b, c) AS
    generate_series(a, CASE WHEN abs((epoch(b) - epoch(a)) / epoch(c)) >= 1048575
        THEN error('Cannot generate arrays with more than 1048575 elements.') ELSE b END, c);
CREATE OR REPLACE MACRO bq_safe_series_of_times(a, b, c) AS
    generate_series(a, CASE WHEN abs((epoch(b) - epoch(a)) / epoch(c)) >= 1048575
        THEN NULL ELSE b END, c);

-- JSON ---------------------------------------------------------------------------------------------

-- What is taken out of a STRING is one, out of JSON is JSON.
CREATE OR REPLACE MACRO bq_like_input
    (v, x JSON) AS v,
    (v, x VARCHAR) AS CAST(v AS VARCHAR);
CREATE OR REPLACE MACRO bq_each_like_input
    (v, x JSON) AS v,
    (v, x VARCHAR) AS CAST(v AS VARCHAR[]);
CREATE OR REPLACE MACRO bq_json_type(x) AS
    CASE json_type(x) WHEN 'VARCHAR' THEN 'string' WHEN 'BOOLEAN' THEN 'boolean'
        WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array' WHEN 'NULL' THEN 'null'
        WHEN NULL THEN NULL ELSE CASE WHEN x IS NOT NULL THEN 'number' END END;
