"""Files of requirements, as pip reads them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from local_cloud.engine.spec import EngineError

DEEPEST = 10  # files that name each other
# As pip: a file that begins with a mark of its encoding has that encoding.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
COMMENT = re.compile(r"(^|\s)#.*$")
NESTED = re.compile(r"(?:-r|--requirement)[ =]?\s*(\S.*)")
EDITABLE = re.compile(r"(?:-e|--editable)[ =]?\s*(\S.*)")
OPTIONS = re.compile(r"\s--(hash|config-settings|global-option)\b.*$")


def read(file: Path, depth: int = 0) -> list[str]:
    """The requirements in a file and in those that it names; EngineError if it cannot be read.

    Its other options (an index, hashes) are passed over.
    """
    if depth == DEEPEST:
        raise EngineError(f"{file}: files of requirements name each other without an end")
    return [found for line in _lines(file) for found in _wanted(line, file, depth)]


def _lines(file: Path) -> Iterator[str]:
    text = decoded(file).replace("\\\r\n", " ").replace("\\\n", " ")
    for line in text.splitlines():
        if stripped := COMMENT.sub("", line).strip():
            yield stripped


def _wanted(line: str, file: Path, depth: int) -> list[str]:
    if nested := NESTED.fullmatch(line):
        return read(file.parent / nested[1], depth + 1)
    if editable := EDITABLE.fullmatch(line):
        return [editable[1]]
    return [] if line.startswith("-") else [OPTIONS.sub("", line)]


def decoded(file: Path) -> str:
    """The text of a file; EngineError if it is none or cannot be read."""
    try:
        with file.open("rb") as source:
            content = source.read(LARGEST + 1)
    except OSError as problem:
        raise EngineError(f"{file} cannot be read: {problem.strerror}") from problem
    if len(content) > LARGEST:
        raise EngineError(f"{file} has more than {LARGEST >> 20} MB: this is no list of packages")
    encoding = next((name for mark, name in MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError:
        raise EngineError(f"{file.name} is not text in UTF-8: save it with that encoding") from None


LARGEST = 1 << 20  # bytes
