"""A shell of somebody who works with real clouds, after the lines of `local_cloud env`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from testing.other_environments import ROOT

REAL = {
    "AWS_PROFILE": "work",
    "AWS_SESSION_TOKEN": "real",
    "AWS_DEFAULT_OUTPUT": "json",
    "AWS_ENDPOINT_URL_S3": "https://s3.example.com",
    "CLOUDSDK_ACTIVE_CONFIG_NAME": "work",
    "CLOUDSDK_CORE_PROJECT": "real-project",
    "CLOUDSDK_AUTH_IMPERSONATE_SERVICE_ACCOUNT": "robot@real-project.iam.gserviceaccount.com",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": "https://compute.example.com/",
}


class Shell:
    """Runs programs in a folder with nothing but those lines and the person's own variables."""

    def __init__(self, folder: Path) -> None:
        """folder: where they run, and the person's home."""
        self.folder = folder
        self.own = REAL | {"HOME": str(folder)}
        self.lines = subprocess.run(
            [sys.executable, "-m", "local_cloud", "env"],
            cwd=ROOT,
            env=os.environ | self.own,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program with these words, whatever comes of it."""
        return subprocess.run(
            ["bash", "-c", f'{self.lines}\n"$0" "$@"', *words],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], **self.own},
            capture_output=True,
            text=True,
        )

    def out(self, *words: str) -> str:
        """What a program prints, which is to succeed."""
        done = self.run(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
