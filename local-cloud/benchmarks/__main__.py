"""Measure in one run and print as Markdown; with --write, into README.md, too.

--only NAME,NAME measures the sections of these names and leaves the others unchanged.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.jobs import job, studies
from benchmarks.serving import endpoint
from benchmarks.storage import bigquery, buckets
from testing import sections

README = Path(__file__).with_name("README.md")
SECTIONS: sections.Sections = {
    "jobs": job.section,
    "studies": studies.section,
    "buckets": buckets.section,
    "bigquery": bigquery.section,
    "serving": endpoint.section,
}

if __name__ == "__main__":
    sections.main(SECTIONS, README)
