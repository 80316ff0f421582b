"""Which of the clouds' command lines are installed here; a page that uses them says so first."""

from __future__ import annotations

import shutil

PAGES = {
    "gcloud": "cloud.google.com/sdk/docs/install",
    "gsutil": "cloud.google.com/sdk/docs/install",
    "aws": "docs.aws.amazon.com/cli",
}


def report(*names: str) -> None:
    """Print one sentence for each program: where it is, or where to get it."""
    for name in names:
        if path := shutil.which(name):
            print(f"{name}: {path}")
        else:
            print(
                f"{name} is not installed ({PAGES[name]}): cells that begin with !{name} say "
                '"command not found", and all others work.'
            )
