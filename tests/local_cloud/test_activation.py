"""Unchanged SDK code finds the local cloud, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import local_cloud
from local_cloud.activation import refuse_elsewhere
from local_cloud.control import Status
from local_cloud.home import CHECKOUT


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own that knows of no local cloud yet."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LOCAL_CLOUD_VERTEX_URL", "STORAGE_EMULATOR_HOST", "GOOGLE_CLOUD_PROJECT")
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=CHECKOUT,
        env=clean | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "order",
    [
        "import local_cloud; local_cloud.activate(); from google.cloud import aiplatform, storage",
        "from google.cloud import aiplatform, storage; import local_cloud; local_cloud.activate()",
    ],
    ids=["before the SDKs are imported", "after"],
)
def test_activate_works_before_and_after_the_sdks_are_imported(cloud: Status, order: str) -> None:
    code = order + (
        "; aiplatform.init(project='p', location='us-central1', staging_bucket='gs://x')"
        "; print(aiplatform.CustomJob.list(filter='display_name=none'))"
        "; print(storage.Client().bucket('none').exists())"
    )
    done = python(code)
    assert done.stdout == "[]\nFalse\n", done.stderr


def test_activate_says_no_under_cloud(cloud: Status) -> None:
    done = python("import local_cloud; local_cloud.activate()", LESSON_TARGET="cloud")
    assert "LESSON_TARGET is cloud" in done.stderr


def test_requests_to_real_services_are_stopped(cloud: Status) -> None:
    code = """
import local_cloud; local_cloud.activate()
from google.auth.credentials import AnonymousCredentials
from google.auth.transport.requests import AuthorizedSession, Request
from google.cloud import aiplatform, resourcemanager_v3, storage
from google.oauth2.credentials import Credentials
real = Credentials(None, "refresh", None, "https://oauth2.googleapis.com/token", "id", "secret")
for call in (
    lambda: real.refresh(Request()),
    lambda: storage.Client(credentials=real).bucket("none").exists(),
    lambda: AuthorizedSession(AnonymousCredentials()).get("https://storage.googleapis.com/x"),
    lambda: resourcemanager_v3.ProjectsClient(credentials=AnonymousCredentials()),
    lambda: aiplatform.gapic.JobServiceClient(credentials=AnonymousCredentials()),
):
    try:
        call()
    except local_cloud.LocalCloudError as problem:
        print(problem)
"""
    done = python(code)
    assert done.stdout.count("was stopped, because LESSON_TARGET is local") == 5, done.stderr


def test_no_proxy_comes_to_see_the_secret(cloud: Status) -> None:
    code = """
import local_cloud; local_cloud.activate(); local_cloud.activate()
from google.cloud import storage
import os
print(storage.Client().bucket("none").exists(), os.environ["NO_PROXY"], os.environ["no_proxy"])
"""
    proxy = "http://127.0.0.2:9"
    done = python(code, HTTP_PROXY=proxy, http_proxy=proxy, NO_PROXY="a", no_proxy="intra.net")
    assert done.stdout == "False 127.0.0.1,localhost,intra.net 127.0.0.1,localhost,intra.net\n", (
        done.stderr
    )


def test_loopback_is_not_elsewhere() -> None:
    for address in ("http://127.0.0.1:80/x", "localhost:443", "http://[::1]:1/"):
        refuse_elsewhere(address)
    with pytest.raises(local_cloud.LocalCloudError, match=r"127\.0\.0\.1\.example\.com"):
        refuse_elsewhere("http://127.0.0.1.example.com/")


def test_a_server_that_the_environment_names_serves_other_interpreters_too(
    cloud: Status, tmp_path: Path
) -> None:
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    code = "import local_cloud; print(local_cloud.activate().facts['pid'])"
    done = subprocess.run(
        [link, "-c", code],
        cwd=CHECKOUT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{local_cloud.status().facts['pid']}\n", done.stderr
