"""Which SQL may reach DuckDB: an allow-list of what sqlglot's tree may hold.

DuckDB has functions and statements that read files, the environment and its own settings. A kind
of node that is not named here is refused by name, so what a newer sqlglot knows is refused, too.
"""

from __future__ import annotations

import re
from typing import Any

from sqlglot.expressions import Condition, Expr

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented

_STATEMENTS = """
Alter Create Delete Drop Except Insert Intersect Merge Select Subquery TruncateTable
Union Update
"""
_NODES = """
Add Alias Aliases All AlterColumn AlterRename AlterSet Any Between Binary BitwiseAnd
BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor Boolean Bracket ByteString CTE
Clone Cluster ClusterProperty Column ColumnConstraint ColumnDef ColumnPosition
CommentColumnConstraint Condition Cube DPipe DataType DataTypeParam Distinct Div Dot EQ Escape
Filter From GT GTE Group GroupingSets Having HavingMax HexString Hint ILike Identifier IgnoreNulls
In IntDiv Interval IntervalOp IntervalSpan Is JSONKeyValue JSONPath JSONPathKey JSONPathRoot
JSONPathSlice JSONPathSubscript JSONPathUnion JSONPathWildcard Join Kwarg LT LTE Lambda Lateral Like
LikeProperty Limit Literal Mod Mul NEQ Neg Not NotNullColumnConstraint Null
NullSafeEQ NullSafeNEQ Offset OnCondition Order Ordered Parameter Paren Partition
PartitionedByProperty Pivot PivotAlias Placeholder PositionalColumn PrimaryKey Properties Property
PropertyEQ Qualify Query RawString RenameColumn RespectNulls Rollup Schema Selectable Semicolon
SetOperation Slice Star Sub Table TableAlias TableSample TemporaryProperty TimeUnit Tuple
UnpivotColumns Values Var WeekStart When Whens Where Window WindowSpec With
"""
_FUNCTIONS = """
Abs Acos Acosh And AnyValue ApproxDistinct ApproxQuantile ApproxQuantiles ApproxTopK ApproxTopSum
ArgMax ArgMin Array ArrayAgg ArrayAll ArrayAny ArrayConcat ArrayConcatAgg ArrayContains
ArrayDistinct ArrayFilter ArrayFirst ArrayLast ArrayReverse ArraySize ArraySlice ArraySum
ArrayToString Ascii Asin Asinh Atan Atan2 Atanh Avg BitwiseAndAgg BitwiseCount BitwiseOrAgg
BitwiseXorAgg ByteLength Case Cast CastToStrType Cbrt Ceil Chr Coalesce CodePointsToBytes
CodePointsToString Concat ConcatWs Contains Corr Cos Cosh CosineDistance Cot Coth Count
CountIf CovarPop CovarSamp Csc Csch CumeDist CurrentDate CurrentDatetime CurrentTime
CurrentTimestamp CurrentUser Date DateAdd DateBin DateDiff DateFromParts DateFromUnixDate
DateStrToDate DateSub DateToDateStr DateTrunc Datetime DatetimeAdd DatetimeDiff DatetimeSub
DatetimeTrunc Day DayOfMonth DayOfWeek DayOfWeekIso DayOfYear Degrees DenseRank EndsWith
EuclideanDistance Exists Exp Extract FarmFingerprint First FirstValue Flatten Float64 Floor Format
FromBase32 FromBase64 GenerateDateArray GenerateSeries GenerateTimestampArray Greatest
GroupConcat Grouping Hex Hour If Initcap Int64 IsInf IsNan JSONArray JSONArrayAppend
JSONArrayInsert JSONBool JSONExtract JSONExtractArray JSONExtractScalar JSONFormat JSONKeysAtDepth
JSONObject JSONRemove JSONSet JSONStripNulls JSONType JSONValueArray JustifyDays JustifyHours
JustifyInterval Lag Last LastDay LastValue LaxBool LaxFloat64 LaxInt64 LaxString Lead Least Left
Length Levenshtein List Ln Log LogicalAnd LogicalOr Lower LowerHex MD5 MD5Digest MakeInterval Max
Min Minute Mode Month Normalize NthValue Ntile Nullif Or Pad ParseBignumeric ParseDatetime
ParseJSON ParseNumeric ParseTime PercentRank PercentileCont PercentileDisc Pi Pow Quantile Quarter
Radians Rand RangeBucket Rank RegexpCount RegexpExtract RegexpExtractAll RegexpInstr RegexpLike
RegexpReplace RegexpSubstr Repeat Replace Reverse Right Round RowNumber SHA SHA1Digest SHA2
SHA2Digest SafeAdd SafeConvertBytesToString SafeDivide SafeFunc SafeMultiply SafeNegate
SafeSubtract Sec Sech Second SessionUser Sign Sin Sinh Soundex Space Split SplitPart Sqrt
StartsWith Stddev StddevPop StddevSamp StrPosition StrToDate StrToTime String StringToArray Struct
StructExtract Substring Sum Tan Tanh Time TimeAdd TimeDiff TimeFromParts TimeStrToDate
TimeStrToTime TimeSub TimeToStr TimeToUnix TimeTrunc Timestamp TimestampAdd TimestampDiff
TimestampFromParts TimestampSub TimestampTrunc ToBase32 ToBase64 ToChar ToCodePoints Transform
Translate Trim Trunc Try TryCast TsOrDsDiff TsOrDsToDate TsOrDsToDatetime TsOrDsToTime
TsOrDsToTimestamp Unhex Unicode UnixDate UnixMicros UnixMillis UnixSeconds UnixToTime Unnest Upper
Uuid Variance VariancePop Week WeekOfYear Xor Year YearOfWeek YearOfWeekIso
"""
_WORD = re.compile(r"\w*(\(\w+\))?")
_NAME = re.compile(r"\w[\w-]*")  # of what has no quotes
_NUMBER = re.compile(r"[0-9A-Fa-f.]+([eE][+-]?[0-9]+)?")
_ANYTHING = re.compile(r".*", re.DOTALL)
_KEYWORDS = re.compile(r"[A-Za-z0-9_ ]*")
# Nodes that hold a text which is written in quotes. The others' texts are written as they are.
_QUOTED = frozenset(
    {"ByteString", "JSONPathKey", "JSONPathSubscript", "JSONPathUnion", "RawString"}
)
# Where a node has names: the text of any other kind of node might be written without quotes.
_NAMED = {
    "Alias": ("alias",),
    "Column": ("this", "table", "db", "catalog"),
    "CTE": ("alias",),
    "Join": ("using",),
    "Pivot": ("alias", "columns"),
    "Schema": ("expressions",),
    "Star": ("except_", "except"),
    "Table": ("alias", "db", "catalog"),
    "TableAlias": ("this", "columns"),
    "Window": ("alias",),
}
_NAMES = frozenset({"ColumnDef", "Column", "Identifier", "Star", "TableAlias"})
OURS = frozenset({"ExportModel", "MLFunction", "ModelName"})  # grammar.py
STATEMENTS = frozenset(_STATEMENTS.split()) | {"ExportModel"}
NODES = STATEMENTS | OURS | frozenset(_NODES.split())
FUNCTIONS = frozenset(_FUNCTIONS.split())
# Functions of BigQuery's that sqlglot does not know -> what DuckDB calls them.
OTHERS = {
    "error": "error",
    "ieee_divide": "fdiv",
    "array_is_distinct": "list_is_distinct",
    "bit_count": "bit_count",
}

# Of CREATE MODEL.
CLAUSES = {
    "TransformModelProperty": "TRANSFORM",
    "InputModelProperty": "INPUT",
    "OutputModelProperty": "OUTPUT",
    "RemoteWithConnectionModelProperty": "REMOTE WITH CONNECTION",
}


def check(tree: Any) -> None:
    """Raise Problem unless every node of this tree is known."""
    if type(tree).__name__ not in STATEMENTS:
        if isinstance(tree, Condition):  # a bare expression
            raise invalid_query(f'Syntax error: Unexpected "{tree.sql("bigquery")[:40]}" at [1:1]')
        raise not_implemented(f"statement {statement_name(tree)}")
    if tree.key == "create" and tree.kind not in ("TABLE", "VIEW", "SCHEMA", "MODEL"):
        raise not_implemented(f"statement CREATE {tree.kind}")
    for node in tree.walk():
        kind = type(node).__name__
        if kind in ("Anonymous", "AnonymousAggFunc"):
            if str(node.this).lower() not in OTHERS:
                raise invalid_query(f"Function not found: {node.name}")
        elif kind not in NODES and kind not in FUNCTIONS:
            raise not_implemented(f"{_word(node)} in a query")
        _check_texts(node, kind)
        _check_names(node, kind)


def _check_texts(node: Any, kind: str) -> None:
    """Raise Problem for a text that would be written as it is and is more than a word."""
    if kind == "Literal":
        pattern = _ANYTHING if node.is_string else _NUMBER
    elif kind == "Identifier":
        pattern = _ANYTHING if node.args.get("quoted") else _NAME
    else:
        pattern = _ANYTHING if kind in _QUOTED else _WORD if kind == "Var" else _KEYWORDS
    for value in node.args.values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and not pattern.fullmatch(one):
                raise invalid_query(f"Syntax error: Unexpected {one[:40]!r}")


def _check_names(node: Any, kind: str) -> None:
    """Raise Problem where a name belongs and something else is."""
    for key in _NAMED.get(kind, ()):
        value = node.args.get(key)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Expr) and type(one).__name__ not in _NAMES:
                raise invalid_query(f"Syntax error: Unexpected {one.sql('bigquery')[:40]!r}")


def statement_name(tree: Any) -> str:
    """Return how messages name a statement: its first words."""
    if type(tree).__name__ == "Command":
        return str(tree.this).upper()
    return str(tree.key).upper()


def _word(node: Any) -> str:
    if type(node).__name__ in CLAUSES:
        return f"the clause {CLAUSES[type(node).__name__]}"
    names = getattr(type(node), "sql_names", None)
    return f"function {names()[0]}" if names else type(node).__name__
