"""Measure in one run and print as Markdown; with --write, into README.md, too.

--only NAME,NAME measures the sections of these names and leaves the others as they are.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from datetime import date

from benchmarks import (
    big_tables,
    bigquery,
    buckets,
    checkpoints,
    jobs,
    loops,
    processes,
    scaling,
    serving,
    sharing,
    step,
    studies,
    threads,
)
from benchmarks.measure import ROOT

README = ROOT / "benchmarks" / "README.md"
SECTIONS: dict[str, Callable[[], str]] = {
    "whole-process": processes.whole_process,
    "step": step.section,
    "threads": threads.section,
    "starting": processes.starting,
    "scaling": scaling.section,
    "loops": loops.section,
    "sharing": sharing.section,
    "checkpoints": checkpoints.section,
    "big-tables": big_tables.section,
    "jobs": jobs.section,
    "studies": studies.section,
    "buckets": buckets.section,
    "bigquery": bigquery.section,
    "serving": serving.section,
}


def measure_section(name: str) -> str:
    """Return a section's heading, when and where it was measured, and its table."""
    import torch

    heading, table = SECTIONS[name]().split("\n", 1)
    place = f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}"
    when = f"Measured on {date.today()}: {place}, Python {platform.python_version()}."
    return f"{heading}\n\n{when}\n{table}"


def replace(page: str, name: str, section: str) -> str:
    """Return the page with the text between this section's marks replaced."""
    begin, end = f"<!-- section {name}, written by `make bench` -->", f"<!-- end of {name} -->"
    before, _, rest = page.partition(begin)
    after = rest.partition(end)[2]
    if not after:
        raise SystemExit(f"{README} has no marks for the section {name}")
    return f"{before}{begin}\n\n{section}\n{end}{after}"


def names(text: str) -> list[str]:
    """Return the names of sections, in the order of the page."""
    wanted = text.split(",")
    if strangers := set(wanted) - set(SECTIONS):
        raise argparse.ArgumentTypeError(f"no {', '.join(strangers)} in {', '.join(SECTIONS)}")
    return [name for name in SECTIONS if name in wanted]


def main() -> None:
    """Measure, print, and write if asked to; each section as soon as it is there."""
    parser = argparse.ArgumentParser("benchmarks", description=__doc__)
    parser.add_argument("--only", type=names, default=[*SECTIONS], metavar="NAME,NAME")
    parser.add_argument("--write", action="store_true", help="into benchmarks/README.md")
    flags = parser.parse_args()
    for name in flags.only:
        section = measure_section(name)
        print(section, flush=True)
        if flags.write:
            page = replace(README.read_text(encoding="utf-8"), name, section)
            README.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
