"""Sections of a page that a benchmark writes: each between two marks, with its day and machine."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from pathlib import Path

Sections = Mapping[str, Callable[[], str]]  # name -> measures, and returns a heading and a table


def measure_section(measure: Callable[[], str]) -> str:
    """Return a section's heading, when and where it was measured, and its table."""
    import torch

    heading, table = measure().split("\n", 1)
    place = f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}"
    when = f"Measured on {date.today()}: {place}, Python {platform.python_version()}."
    return f"{heading}\n\n{when}\n{table}"


def replace(page: str, name: str, section: str) -> str:
    """Return the page with the text between this section's marks replaced."""
    begin, end = f"<!-- section {name}, written by `make bench` -->", f"<!-- end of {name} -->"
    before, _, rest = page.partition(begin)
    after = rest.partition(end)[2]
    if not after:
        raise SystemExit(f"the page has no marks for the section {name}")
    return f"{before}{begin}\n\n{section}\n{end}{after}"


def choose(sections: Sections, text: str) -> list[str]:
    """Return the names of sections, in the order of the page."""
    wanted = text.split(",")
    if strangers := set(wanted) - set(sections):
        raise argparse.ArgumentTypeError(f"no {', '.join(strangers)} in {', '.join(sections)}")
    return [name for name in sections if name in wanted]


def main(sections: Sections, page: Path) -> None:
    """Measure, print, and write if asked to; each section as soon as it is there."""
    parser = argparse.ArgumentParser("benchmarks", description=__doc__)
    names = partial(choose, sections)
    parser.add_argument("--only", type=names, default=[*sections], metavar="NAME,NAME")
    parser.add_argument("--write", action="store_true", help=f"into {page.name} beside them")
    flags = parser.parse_args()
    for name in flags.only:
        section = measure_section(sections[name])
        print(section, flush=True)
        if flags.write:
            text = replace(page.read_text(encoding="utf-8"), name, section)
            page.write_text(text, encoding="utf-8")
