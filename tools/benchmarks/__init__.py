"""Measurements against what a reader would pick instead; see README.md for results and reading."""

import sys
from pathlib import Path

# The script finds the modules beside it by their bare names, and so do the benchmarks.
sys.path.append(str(Path(__file__).parents[1] / "training"))
