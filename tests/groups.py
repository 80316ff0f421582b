"""The groups of tests: `make test GROUP=google` runs one of them, `make test` all.

`python -m tests.groups google` prints the group's test files, and without a name what all are in.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALL = ("tests", "notebooks/instructor")

_GOOGLE = "tests/local_cloud/google"
_AMAZON = "tests/local_cloud/amazon"

# The beginnings of paths. A file belongs to the group that names the longest beginning of its path.
GROUPS = {
    "script": ("tests/training/", "tests/taxifare/", "tests/torch_versions/"),
    "google": (f"{_GOOGLE}/", "tests/GCP_helpers/", "tests/local_cloud/test_gcloud.py"),
    "amazon": (
        *(f"{_AMAZON}/", "tests/AWS_helpers/"),
        *("tests/local_cloud/test_awscli.py", "tests/local_cloud/test_sagemaker_2"),
    ),
    "helpers": ("tests/helpers/", "tests/sdk_paths/"),
    "engine": (
        *("tests/local_cloud/engine/", "tests/local_cloud/store/"),
        *("tests/local_cloud/test_job_networks.py", "tests/strangers/"),
    ),
    "server": ("tests/local_cloud/",),  # the client, HTTP, the bill, what several services share
    "bigquery": (f"{_GOOGLE}/bigquery/", "tests/local_cloud/test_bq.py"),
    "automl": (
        *("tests/local_cloud/automl/", f"{_GOOGLE}/vertex/automl/"),
        *(f"{_AMAZON}/sagemaker/autopilot/", "tests/local_cloud/test_sagemaker_2_autopilot.py"),
    ),
    "images": ("tests/local_cloud/images/", "tests/image/"),
    "pipelines": (
        *(f"{_GOOGLE}/vertex/pipelines/", f"{_AMAZON}/sagemaker/pipelines/"),
        "tests/helpers/test_pipeline",
        "tests/local_cloud/test_sagemaker_2_pipelines.py",
    ),
    "console": ("tests/local_cloud/console/",),
    "lesson": ("tests/lesson/", "tests/data/"),
    "tools": ("tests/tools/", "tests/places/", "tests/torture/", "tests/test_"),
    "notebooks": ("notebooks/instructor/",),
}


def files() -> list[str]:
    """Return the paths of all test files and of the notebooks that the tests run."""
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    notebooks = sorted((ROOT / "notebooks/instructor").glob("*.ipynb"))
    return [path.relative_to(ROOT).as_posix() for path in tests + notebooks]


def groups_of(file: str) -> list[str]:
    """Return the groups with the longest beginning of this path: one, if the table is right."""
    lengths = {
        group: max((len(each) for each in beginnings if file.startswith(each)), default=0)
        for group, beginnings in GROUPS.items()
    }
    longest = max(lengths.values())
    return [group for group, length in lengths.items() if length == longest > 0]


def paths(group: str) -> list[str]:
    """Return the test files of a group."""
    if group not in GROUPS:
        sys.exit(f"there is no group of tests {group}; the groups are {', '.join(GROUPS)}")
    return [file for file in files() if groups_of(file) == [group]]


if __name__ == "__main__":
    print(*(paths(sys.argv[1]) if sys.argv[1:] else ALL))
