"""Measure in one run and print as Markdown; with --write, into README.md, too.

--only NAME,NAME measures the sections of these names and leaves the others unchanged.
"""

from __future__ import annotations

from pathlib import Path

from testing import sections
from tools.benchmarks.files import big_tables, checkpoints
from tools.benchmarks.replicas import loops, scaling, sharing
from tools.benchmarks.steps import processes, step, threads

README = Path(__file__).with_name("README.md")
SECTIONS: sections.Sections = {
    "whole-process": processes.whole_process,
    "step": step.section,
    "threads": threads.section,
    "starting": processes.starting,
    "scaling": scaling.section,
    "loops": loops.section,
    "sharing": sharing.section,
    "checkpoints": checkpoints.section,
    "big-tables": big_tables.section,
}

if __name__ == "__main__":
    sections.main(SECTIONS, README)
