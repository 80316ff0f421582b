"""What a column of a table holds: numbers, true and false, words, or nothing a network can use.

A value is a number if float() reads it, because serve_nn.py reads the values of a request so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

NUMBER, BOOLEAN, WORDS = "number", "true/false", "words"
LARGEST = float(np.finfo(np.float32).max)  # the network computes in float32
BOOLEANS = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}

TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp]\.?[Mm]\.?)?(Z|[+-]\d{2}:?\d{2})?"
DATE = r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
MOMENT = re.compile(rf"({DATE}([T ]{TIME})?|{TIME})")
SIGN, CURRENCY = r"[-+−]?", r"([$€£¥₹]|USD|EUR|GBP|JPY|CHF)?"
DIGITS = r"(\d{1,3}([.,'’ \u00a0\u202f]\d{3})+|\d+)([.,]\d+)?"  # with and without thousands apart
FORMATTED = re.compile(rf"\(?{SIGN} ?{CURRENCY} ?{SIGN}{DIGITS}\s?(%|‰|{CURRENCY})\)?")
LEADING_ZERO = re.compile(r"[-+]?0\d")


class Column(NamedTuple):
    """What a column holds."""

    name: str
    kind: str  # NUMBER, BOOLEAN or WORDS; "" if it holds nothing that can be used
    values: pd.Series  # floats or words; NaN in a gap
    remark: str = ""  # why it cannot be used, or how it is read


def read_column(column: pd.Series) -> Column:
    """Return what a column holds: texts, as a file has them, or the values of a database."""
    name, values = str(column.name), column.dropna()
    text = values.map(str)
    if not len(text):
        return Column(name, "", column, "it has no values")
    if text.isin(list(BOOLEANS)).all():
        return Column(name, BOOLEAN, text.map(BOOLEANS).reindex(column.index))
    numbers = to_numbers(text)
    if numbers is not None:
        return _read_numbers(column, text, numbers)
    problem = _explain_words(values, text.drop_duplicates())
    return Column(name, "" if problem else WORDS, column, problem)


def to_numbers(text: pd.Series) -> pd.Series | None:
    """Return what float() reads in texts; None if it does not read one of them."""
    import pandas as pd

    try:
        return pd.Series(text.to_numpy(dtype=object).astype(float), index=text.index)
    except ValueError:
        return None


def is_number(text: str) -> bool:
    """Return whether float() reads a text."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_numbers(column: pd.Series, text: pd.Series, numbers: pd.Series) -> Column:
    """Return a column of numbers, all of which float32 can hold."""
    name, usable = str(column.name), numbers.abs() <= LARGEST  # not for infinity and nan
    if not usable.all():
        example = text[~usable].iloc[0]
        why = f"it holds {example!r}, which float32 cannot hold: leave such cells empty"
        return Column(name, "", column, why)
    coded = text[text.str.match(LEADING_ZERO)]
    remark = f"{coded.iloc[0]} is read as {numbers[coded.index[0]]:.15g}" if len(coded) else ""
    return Column(name, NUMBER, numbers.reindex(column.index), remark)


def _explain_words(values: pd.Series, text: pd.Series) -> str:
    """Return why values cannot be used as words; "" if they can. text: the different ones."""
    if text.str.fullmatch(MOMENT).all():
        example = f"it holds dates or times such as {text.iloc[0]!r}"
        return f"{example}: write a number, such as the days since a first date"
    numbers = text.map(is_number).to_numpy(dtype=bool)
    formatted = text[~numbers]
    if formatted.str.fullmatch(FORMATTED).all():
        return f"it holds {formatted.iloc[0]!r}: write digits and a decimal point only"
    if numbers.any():
        both = f"{text[numbers].iloc[0]!r} and {formatted.iloc[0]!r}"
        return f"it holds {both}: leave gaps empty, or write all values as words or as numbers"
    other = values[~values.map(lambda value: isinstance(value, str))]
    return f"it holds {other.iloc[0]!r}: write words or numbers" if len(other) else ""
