"""The tests: they mirror the packages, and read as documentation."""

import sys
from pathlib import Path

# What they share with the tests of the local cloud is in its folder `testing`.
sys.path.append(str(Path(__file__).parents[1] / "local-cloud"))
