"""Measurements against what a reader would pick instead; see README.md for results and reading."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The script finds the modules beside it by their bare names, and so do the benchmarks; how one
# measures is in the folder that both houses share.
sys.path += [str(ROOT / "training"), str(ROOT / "local-cloud")]
