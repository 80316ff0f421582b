"""Interim: a job's Python runs local_cloud/in_job.py."""

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).resolve().parents[1] / "in_job.py"))
