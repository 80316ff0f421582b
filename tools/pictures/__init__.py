"""Pictures for the pages."""

import sys
from pathlib import Path

# The browser that takes them is that of the tests of both houses.
sys.path.append(str(Path(__file__).parents[2] / "local-cloud"))
