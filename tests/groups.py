"""The groups of tests: `make test GROUP=helpers` runs one of them, `make test` all.

`python -m tests.groups helpers` prints the group's test files, and without a name what all are in.
"""

from __future__ import annotations

import sys
from pathlib import Path

from testing.groups import Groups

GROUPS = Groups(
    Path(__file__).parents[1],
    ("tests", "notebooks/instructor"),
    {
        "script": ("tests/training/", "tests/taxifare/", "tests/torch_versions/"),
        "google": ("tests/GCP_helpers/",),
        "amazon": ("tests/AWS_helpers/",),
        "helpers": ("tests/helpers/", "tests/sdk_paths/", "tests/seeds/"),
        "images": ("tests/image/",),
        "lesson": ("tests/lesson/", "tests/data/"),
        "tools": ("tests/tools/", "tests/places/", "tests/test_"),
        "notebooks": ("notebooks/instructor/",),
    },
)

if __name__ == "__main__":
    GROUPS.main(sys.argv[1:])
