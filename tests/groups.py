"""The groups of tests, and which of them `make test` leaves to `make rest`.

`python -m tests.groups helpers` prints a group's test files, `rest` those of `make rest`, and
without a name it prints those of `make test`.
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
    (
        "notebooks/instructor/05-",
        "notebooks/instructor/08-",
        "notebooks/instructor/09-",
        "notebooks/instructor/1",
        "notebooks/instructor/2",
        "tests/data/test_twin_against_real.py",
        "tests/helpers/test_pipeline",
        "tests/helpers/test_targets.py",
        "tests/helpers/test_vm.py",
        "tests/helpers/test_watching.py",
        "tests/image/",
        "tests/lesson/exercises/test_interrupted_exercises.py",
        "tests/lesson/exercises/test_sagemaker_exercises.py",
        "tests/lesson/exercises/test_serving_exercises.py",
        "tests/lesson/exercises/test_troubleshooting_exercises.py",
        "tests/lesson/exercises/test_tuning_exercises.py",
        "tests/lesson/machines/",
        "tests/lesson/show/test_progress_in_notebook.py",
        "tests/places/",
        "tests/seeds/",
        "tests/taxifare/",
        "tests/test_compare_interrupted.py",
        "tests/test_fresh_clone.py",
        "tests/test_mutants.py",
        "tests/tools/test_environment.py",
        "tests/torch_versions/",
        "tests/training/test_losses.py",
        "tests/training/test_meeting.py",
    ),
)

if __name__ == "__main__":
    GROUPS.main(sys.argv[1:])
