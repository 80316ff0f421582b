"""BigQuery's SQL with what sqlglot lacks: ML.FUNCTION(MODEL …, …) and EXPORT MODEL."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.bigquery import BigQuery
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from local_cloud.google.bigquery.api.errors import not_implemented

# Those that are there; ml/functions.py has one function for each.
FUNCTIONS = (
    "PREDICT",
    "EVALUATE",
    "EXPLAIN_PREDICT",
    "TRAINING_INFO",
    "FEATURE_INFO",
    "WEIGHTS",
    "GLOBAL_EXPLAIN",
    "FEATURE_IMPORTANCE",
    "CENTROIDS",
    "CONFUSION_MATRIX",
    "ROC_CURVE",
    "PRINCIPAL_COMPONENTS",
    "PRINCIPAL_COMPONENT_INFO",
)

# Those of the service that are not.
MISSING = (
    "ADVANCED_WEIGHTS",
    "RECONSTRUCTION_LOSS",
    "RECOMMEND",
    "TRIAL_INFO",
    "DETECT_ANOMALIES",
    "ARIMA_EVALUATE",
    "ARIMA_COEFFICIENTS",
    "EXPLAIN_FORECAST",
    "HOLIDAY_INFO",
    "DESCRIBE_DATA",
    "VALIDATE_DATA_SKEW",
    "VALIDATE_DATA_DRIFT",
    "TFDV_DESCRIBE",
    "UNDERSTAND_TEXT",
    "ANNOTATE_IMAGE",
    "PROCESS_DOCUMENT",
    "TRANSCRIBE",
    "GENERATE_TEXT_LLM",
)


class MLFunction(exp.Expression, exp.Func):
    """One of ML's functions over a table: `function`, `model`, `data`, `settings`."""

    arg_types: ClassVar = {"function": True, "model": True, "data": False, "settings": False}


class ModelName(exp.Expression):
    """A model's name, which is not a table's."""

    arg_types: ClassVar = {"expressions": True}

    @property
    def parts(self) -> list[Any]:
        """Return the identifiers, as a table node has them."""
        identifiers: list[Any] = self.expressions
        return identifiers

    def qualify(self, dataset: str) -> None:
        """Put this dataset before a name that has none."""
        if len(self.parts) == 1 and dataset:
            self.set("expressions", [exp.to_identifier(dataset, quoted=True), *self.parts])


class ExportModel(exp.Expression):
    """EXPORT MODEL … OPTIONS(…): `this` is the model's table node, `options` a list."""

    arg_types: ClassVar = {"this": True, "options": True}


def _question_mark(parser: Any) -> Any:
    """Return a positional parameter with its place: in the tree, clauses have another order."""
    placeholder = exp.Placeholder()
    placeholder.meta["place"] = parser._prev.start
    return placeholder


def _ml_function(name: str) -> Any:
    def parse(parser: Any) -> Any:
        before = parser._tokens[max(parser._index - 4, 0) : parser._index - 2]
        if [token.text.upper() for token in before] != ["ML", "."]:
            return exp.Anonymous(this=name, expressions=parser._parse_csv(parser._parse_lambda))
        if name in MISSING:
            raise not_implemented(f"function ML.{name}")
        return parser._parse_model_function(name)

    return parse


class Parser(BigQuery.Parser):  # type: ignore[misc, valid-type]
    """sqlglot's, and the functions."""

    FUNCTION_PARSERS = BigQuery.Parser.FUNCTION_PARSERS | {
        name: _ml_function(name) for name in [*FUNCTIONS, *MISSING]
    }

    PLACEHOLDER_PARSERS = BigQuery.Parser.PLACEHOLDER_PARSERS | {
        TokenType.PLACEHOLDER: _question_mark
    }

    def _parse_model_function(self, name: str) -> Any:
        if not self._match_text_seq("MODEL"):
            self.raise_error("Expected keyword MODEL")
        model = ModelName(expressions=self._parse_table_parts().parts)
        data = settings = None
        while self._match(TokenType.COMMA):
            if data is None and settings is None and self._match_text_seq("TABLE"):
                data = self._parse_table_parts()
                continue
            node = self._parse_assignment() if settings is None else None
            if isinstance(node, exp.Subquery) and data is None:
                data = node
            elif node is not None and not isinstance(node, exp.Subquery):
                settings = node
            else:
                self.raise_error("Expected TABLE, a query in parentheses, or STRUCT")
        return MLFunction(function=name, model=model, data=data, settings=settings)

    def _parse_export_data(self) -> Any:
        if not self._match_text_seq("MODEL"):
            return super()._parse_export_data()
        this = self._parse_table_parts()
        if not self._match_text_seq("OPTIONS"):
            self.raise_error("Expected keyword OPTIONS")
        return ExportModel(this=this, options=self._parse_wrapped_csv(self._parse_property))


def _generate_call(generator: Any, node: Any) -> str:
    """ML.FUNCTION(…) as a query has it, without the name before it."""
    data, settings = node.args.get("data"), node.args.get("settings")
    parts = ["MODEL " + ".".join(generator.sql(one) for one in node.args["model"].parts)]
    if data is not None:
        parts.append(("TABLE " if isinstance(data, exp.Table) else "") + generator.sql(data))
    if settings is not None:
        parts.append(generator.sql(settings))
    return f"{node.args['function']}({', '.join(parts)})"


class Generator(BigQuery.Generator):  # type: ignore[misc, valid-type]
    """sqlglot's, and the functions: a view is kept as text."""

    TRANSFORMS: ClassVar = BigQuery.Generator.TRANSFORMS | {MLFunction: _generate_call}


class Dialect(BigQuery):
    """BigQuery's SQL as read and written here."""

    Parser = Parser
    Generator = Generator
