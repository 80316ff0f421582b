"""Unchanged SDK code finds the local cloud, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import local_cloud
from local_cloud.client.control import Status
from local_cloud.client.home import CHECKOUT
from local_cloud.client.target import refuse_elsewhere


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own that knows of no local cloud yet."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LOCAL_CLOUD_VERTEX_URL", "STORAGE_EMULATOR_HOST", "GOOGLE_CLOUD_PROJECT")
        and not name.startswith(("AWS_", "SAGEMAKER_"))
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
        pytest.param(
            "import local_cloud; local_cloud.activate()"
            "; from google.cloud import aiplatform, storage",
            id="before the SDKs are imported",
            marks=pytest.mark.slow,  # as most other tests here do it
        ),
        pytest.param(
            "from google.cloud import aiplatform, storage"
            "; import local_cloud; local_cloud.activate()",
            id="after",
        ),
    ],
)
def test_activate_works_before_and_after_the_sdks_are_imported(cloud: Status, order: str) -> None:
    code = order + (
        "; aiplatform.init(project='p', location='us-central1', staging_bucket='gs://x')"
        "; print(aiplatform.CustomJob.list(filter='display_name=none'))"
        "; print(storage.Client().bucket('none').exists())"
    )
    done = python(code)
    assert done.stdout == "[]\nFalse\n", done.stderr


def test_a_reload_of_the_sdk_s_modules_keeps_the_pointing(cloud: Status) -> None:
    """The SDK's own tests begin so; somebody does it in a notebook to start afresh."""
    code = """
import local_cloud; local_cloud.activate()
import importlib, boto3, botocore.httpsession
from google.cloud import aiplatform
from google.cloud.aiplatform import initializer
for module in (initializer, aiplatform, boto3, botocore.httpsession) * 2:
    importlib.reload(module)
aiplatform.init(project="p", location="us-central1")
print(aiplatform.CustomJob.list(filter="display_name=none"))
sts = boto3.client("sts", endpoint_url="https://sts.amazonaws.com")
print(sts.get_caller_identity()["Account"])
"""
    done = python(code)
    assert done.stdout == "[]\n000000000000\n", done.stderr


def test_file_systems_over_buckets_find_the_local_cloud(cloud: Status) -> None:
    """The s3fs of this environment goes through botocore; test_file_systems.py has newer ones."""
    code = """
import local_cloud; local_cloud.activate()
import boto3, fsspec
boto3.client("s3").create_bucket(Bucket="of-fsspec")
with fsspec.open("s3://of-fsspec/a/b.txt", "w") as file:
    file.write("text")
print(fsspec.filesystem("s3").ls("of-fsspec/a"))
"""
    done = python(code)
    assert done.stdout == "['of-fsspec/a/b.txt']\n", done.stderr


@pytest.mark.parametrize("name", ["LOCAL_CLOUD_TARGET", "LESSON_TARGET"])
def test_activate_says_no_under_cloud(cloud: Status, name: str) -> None:
    done = python("import local_cloud; local_cloud.activate()", **{name: "cloud"})
    assert f"{name} is cloud, so the SDKs stay with the real one" in done.stderr


@pytest.mark.parametrize(
    "target",
    [
        "",
        "Cloud",
        pytest.param("local", marks=pytest.mark.slow),
        pytest.param("cloud ", marks=pytest.mark.slow),
    ],
)
def test_every_other_target_is_local(cloud: Status, target: str) -> None:
    code = """
import local_cloud; local_cloud.activate()
import boto3
print(boto3.client("sts", endpoint_url="https://sts.amazonaws.com").get_caller_identity()["Account"])
boto3.client("s3", endpoint_url="https://192.0.2.1").list_buckets()
"""
    done = python(code, LOCAL_CLOUD_TARGET=target)
    assert done.stdout == "000000000000\n", done.stderr
    assert "a request to 192.0.2.1 was stopped" in done.stderr


def test_requests_to_real_services_are_stopped(cloud: Status) -> None:
    code = """
import local_cloud; local_cloud.activate()
from google.auth.credentials import AnonymousCredentials
from google.auth.transport.requests import AuthorizedSession, Request
from google.cloud import resourcemanager_v3, storage
from google.oauth2.credentials import Credentials
real = Credentials(None, "refresh", None, "https://oauth2.googleapis.com/token", "id", "secret")
for call in (
    lambda: real.refresh(Request()),
    lambda: storage.Client(credentials=real).bucket("none").exists(),
    lambda: AuthorizedSession(AnonymousCredentials()).get("https://storage.googleapis.com/x"),
    lambda: resourcemanager_v3.FoldersClient(credentials=AnonymousCredentials()),
):
    try:
        call()
    except local_cloud.LocalCloudError as problem:
        print(problem)
"""
    done = python(code)
    assert done.stdout.count("was stopped, because LOCAL_CLOUD_TARGET is local") == 4, done.stderr


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


@pytest.fixture
def account(tmp_path: Path) -> dict[str, str]:
    """What the SDKs find at the home of somebody who has a real account."""
    config = """
[default]
region = eu-west-1
endpoint_url = https://default.example.com
ignore_configured_endpoint_urls = true
[profile work]
region = eu-west-1
role_arn = arn:aws:iam::123456789012:role/Admin
source_profile = default
"""
    keys = "[default]\naws_access_key_id = AKIAREAL\naws_secret_access_key = real\n"
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(config)
    (tmp_path / ".aws" / "credentials").write_text(keys)
    return {
        "HOME": str(tmp_path),
        "AWS_PROFILE": "work",
        "AWS_DEFAULT_PROFILE": "work",
        "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "AKIAREAL",
        "AWS_SECRET_ACCESS_KEY": "real",
        "AWS_SESSION_TOKEN": "real",
        "AWS_CREDENTIAL_EXPIRATION": "2001-01-01T00:00:00Z",
        "AWS_ENDPOINT_URL": "https://all.example.com",
        "AWS_ENDPOINT_URL_STS": "https://sts.example.com",
        "AWS_ENDPOINT_URL_S3": "https://s3.example.com",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
        "AWS_USE_FIPS_ENDPOINT": "true",
        "AWS_MAX_ATTEMPTS": "2",
    }


SERVICES = ("s3", "sts", "iam", "logs", "sagemaker", "sagemaker-runtime")


def test_nothing_that_names_a_real_account_holds(cloud: Status, account: dict[str, str]) -> None:
    code = f"""
import local_cloud; local_cloud.activate()
import boto3, os
print({{boto3.client(name).meta.endpoint_url for name in {SERVICES}}})
found = boto3.Session().get_credentials()
print(found.access_key, found.token, boto3.Session().region_name, os.environ["AWS_MAX_ATTEMPTS"])
print(boto3.client("sts").get_caller_identity()["Account"])
"""
    done = python(code, **account)
    home = f"{{'{cloud.url}/aws'}}"
    assert done.stdout == f"{home}\nLOCALCLOUD None us-east-1 2\n000000000000\n", done.stderr


def test_the_lines_for_a_shell_do_the_same(cloud: Status, account: dict[str, str]) -> None:
    code = f"""
import boto3
print({{boto3.client(name).meta.endpoint_url for name in {SERVICES}}})
print(boto3.client("sts").get_caller_identity()["Account"])
"""
    script = 'eval "$("$PYTHON" -m local_cloud env)" && "$PYTHON" -c "$CODE"'
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=CHECKOUT,
        env=os.environ | account | {"PYTHON": sys.executable, "CODE": code},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{{'{cloud.url}/aws'}}\n000000000000\n", done.stderr


def test_sessions_and_clients_that_were_made_before(cloud: Status, account: dict[str, str]) -> None:
    """The default session starts afresh; a client of another address does not get there."""
    code = """
import boto3
old = boto3.Session(aws_access_key_id="AKIAREAL", aws_secret_access_key="real")
logs = boto3.client("logs", endpoint_url="https://logs.eu-west-1.amazonaws.com")
sts = old.client("sts", endpoint_url="https://sts.eu-west-1.amazonaws.com")
import local_cloud; local_cloud.activate()
print(boto3.client("sts").get_caller_identity()["Account"], boto3.Session().region_name)
print(sts.get_caller_identity()["Account"])  # the SageMaker SDK names this host itself
print(old.client("sts").get_caller_identity()["Account"])
try:
    logs.describe_log_groups()
except local_cloud.LocalCloudError as problem:
    print(problem)
"""
    real = {name: account[name] for name in ("HOME", "AWS_REGION")}
    done = python(code, **real)
    account_of_the_cloud, *rest = done.stdout.splitlines() or [done.stderr]
    assert account_of_the_cloud == "000000000000 us-east-1", done.stderr
    assert rest[:2] == ["000000000000"] * 2
    assert rest[2].startswith("a request to logs.eu-west-1.amazonaws.com was stopped")


def test_in_studio_the_role_is_the_local_one(cloud: Status, tmp_path: Path) -> None:
    """There a file names the role of the real account."""
    metadata = tmp_path / "resource-metadata.json"
    metadata.write_text('{"ExecutionRoleArn": "arn:aws:iam::123456789012:role/Real"}')
    code = f"""
import sys
sys.modules["rfc3987_syntax"] = None  # seconds less
from sagemaker.core.helper import session_helper
session_helper.NOTEBOOK_METADATA_FILE = {str(metadata)!r}
import local_cloud; local_cloud.activate()
print(session_helper.get_execution_role())
"""
    done = python(code)
    assert done.stdout == "arn:aws:iam::000000000000:role/SageMakerExecutionRole\n", done.stderr


def test_loopback_is_not_elsewhere() -> None:
    for address in ("http://127.0.0.1:80/x", "localhost:443", "http://[::1]:1/"):
        refuse_elsewhere(address)
    with pytest.raises(local_cloud.LocalCloudError, match=r"127\.0\.0\.1\.example\.com"):
        refuse_elsewhere("http://127.0.0.1.example.com/")


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("us-central1-aiplatform.googleapis.com", "then make the client without a transport"),
        ("bucket.s3.us-east-1.amazonaws.com", "then make the client without a transport"),
        ("oauth2.googleapis.com", "credentials of its own"),
        ("pubsub.googleapis.com", "pubsub.googleapis.com is not part of the local cloud"),
        ("dynamodb.us-east-1.amazonaws.com", "is not part of the local cloud"),
        ("storage.example.com", "is not part of the local cloud"),
    ],
)
def test_the_refusal_says_what_works(host: str, words: str) -> None:
    with pytest.raises(local_cloud.LocalCloudError, match=words):
        refuse_elsewhere(f"https://{host}/v1")


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
