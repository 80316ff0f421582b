"""The groups of tests: `make test GROUP=google` runs one of them, `make test` all.

`python -m tests.groups google` prints the group's test files, and without a name what all are in.
"""

from __future__ import annotations

import sys
from pathlib import Path

from testing.groups import Groups

GROUPS = Groups(
    Path(__file__).parents[1],
    ("tests",),
    {
        "google": ("tests/google/", "tests/test_gcloud.py"),
        "amazon": ("tests/amazon/", "tests/test_awscli.py", "tests/test_sagemaker_2"),
        "engine": (
            "tests/engine/",
            "tests/store/",
            "tests/test_job_networks.py",
            "tests/strangers/",
        ),
        # the client, HTTP, the bill, what several services share, and the tools
        "server": ("tests/",),
        "bigquery": ("tests/google/bigquery/", "tests/test_bq.py"),
        "automl": (
            "tests/automl/",
            "tests/google/vertex/automl/",
            "tests/amazon/sagemaker/autopilot/",
            "tests/test_sagemaker_2_autopilot.py",
        ),
        "images": ("tests/images/",),
        "pipelines": (
            "tests/google/vertex/pipelines/",
            "tests/amazon/sagemaker/pipelines/",
            "tests/test_sagemaker_2_pipelines.py",
        ),
        "console": ("tests/console/",),
    },
)

if __name__ == "__main__":
    GROUPS.main(sys.argv[1:])
