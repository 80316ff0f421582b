"""How long the set-up and the tests take: the figures are here, and are written into the pages.

`python -m tools.times` writes them, `--check` lists the pages that have others; `make notebooks`
and `make check` call it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETUP = "30 seconds"  # on two cores, with the packages in uv's cache
TESTS = "six minutes"  # `make test` of the lesson, on two cores
CLOUD_TESTS = "four minutes"  # `make test` in local-cloud/, there
DOWNLOAD = "eight minutes"  # 570 MB at 10 Mbit/s

# The words around each figure; a page may break its lines between any two of them.
QUOTES = {
    "takes about {} on two cores once the packages are in": SETUP,
    "at 10 Mbit/s takes {} more": DOWNLOAD,
    "It takes about {} on two cores.": TESTS,
    "runs the emulator's, in about {}.": CLOUD_TESTS,
}
PAGES = {
    "README.md": (SETUP, DOWNLOAD, TESTS, CLOUD_TESTS),
    "index.md": (SETUP, DOWNLOAD),
    "learners/setup.md": (SETUP, DOWNLOAD),
    "instructors/instructor-notes.md": (TESTS,),
}


def with_figures(text: str) -> str:
    """Return the text of a page with the figures of this file."""
    for sentence, figure in QUOTES.items():
        before, after = (words(part) for part in sentence.split("{}"))
        text = re.sub(rf"\b({before})[\w-]+\s+\w+(?={after})", rf"\g<1>{figure}", text)
    return text


def words(text: str) -> str:
    """Return a pattern of these words, whatever blanks are between them."""
    return re.sub(r"(\\ )+", r"\\s+", re.escape(text))


def main(check: bool) -> int:
    """Write the pages that have other figures, or list them; return the exit code."""
    stale = []
    for name in PAGES:
        page = ROOT / name
        text = page.read_text(encoding="utf-8")
        if with_figures(text) != text:
            stale.append(name)
            if not check:
                page.write_text(with_figures(text), encoding="utf-8")
    if check and stale:
        print(f"{', '.join(stale)}: other times than in tools/times.py; run `make notebooks`")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
