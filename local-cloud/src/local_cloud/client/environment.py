"""The variables that point SDKs and command lines at the local cloud, and those that must go."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from local_cloud.client import control
from local_cloud.client.gcloud import PROJECT, configuration
from local_cloud.client.home import Home

REGION = "us-east-1"  # Amazon's
GOOGLE_APIS = ("AIPLATFORM", "BIGQUERY", "CLOUDRESOURCEMANAGER", "LOGGING")  # beside storage
NO_PROXY = "127.0.0.1,localhost"

# What the user's own variables may say to the SDKs and command lines, and here must not: these are
# prefixes. How a client behaves (AWS_MAX_ATTEMPTS, CLOUDSDK_PYTHON and the like) stays the user's.
TAKEN_AWAY = (
    # Other addresses: of one service, of another kind of endpoint, of a listener for reports.
    "AWS_ENDPOINT_URL_",
    "AWS_USE_FIPS",
    "AWS_USE_DUALSTACK",
    "AWS_S3_",
    "AWS_CSM_",
    # Other credentials: they would be sent here with every request, or be found expired.
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_CREDENTIAL_",
    "AWS_BEARER_TOKEN_",
    "AWS_DEFAULT_PROFILE",
    "AWS_ROLE_",
    "AWS_WEB_IDENTITY_",
    "AWS_CONTAINER_",
    "AWS_ACCOUNT_ID",
    # Of Google, for clients in other languages: Python's get none in any case.
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GCE_METADATA_HOST",
    # The same of gcloud; BOTO_ is gsutil's.
    "CLOUDSDK_API_",
    "CLOUDSDK_AUTH_",
    "CLOUDSDK_CORE_",
    "CLOUDSDK_PROXY_",
    "CLOUDSDK_BILLING_",
    "CLOUDSDK_ACTIVE_CONFIG_NAME",
    "CLOUDSDK_CONTEXT_AWARE_",
    "CLOUDSDK_REGIONAL_",
    "BOTO_",
)


def environment(home: Home, port: int) -> dict[str, str]:
    """Return the variables that point SDKs and command lines at `home`'s server on this port."""
    url = home.url(port)
    return {
        "LOCAL_CLOUD_VERTEX_URL": url,
        "STORAGE_EMULATOR_HOST": url,
        "BIGQUERY_EMULATOR_HOST": url,
        # Of clients in C++: Google's, which pyarrow has and which asks for a token; TensorStore's.
        "CLOUD_STORAGE_EMULATOR_ENDPOINT": url,
        "GCE_METADATA_ROOT": url.removeprefix("http://"),
        "TENSORSTORE_GCS_HTTP_URL": url,
        "GOOGLE_CLOUD_PROJECT": PROJECT,
        "NO_GCE_CHECK": "true",  # google-auth would look for a metadata server
        # gcsfs would ask over gRPC what kind of bucket each is, and wait a minute for the answer.
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        "AWS_ENDPOINT_URL": f"{url}/aws",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
        "AWS_ACCESS_KEY_ID": "LOCALCLOUD",
        "AWS_SECRET_ACCESS_KEY": "the-secret-is-in-the-address",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_PROFILE": "default",
        "AWS_CONFIG_FILE": str(home.aws_config),
        "AWS_SHARED_CREDENTIALS_FILE": str(home.aws_config),
        "AWS_EC2_METADATA_DISABLED": "true",  # botocore would look for a metadata server
        "SAGEMAKER_ADMIN_CONFIG_OVERRIDE": str(home.sagemaker_config),
        "SAGEMAKER_USER_CONFIG_OVERRIDE": str(home.sagemaker_config),
        "NO_PROXY": NO_PROXY,
        "no_proxy": NO_PROXY,  # where both are set, this one counts
        **_google_command_lines(home, port),
    }


def _google_command_lines(home: Home, port: int) -> dict[str, str]:
    """Return the variables of gcloud, gsutil and bq (cloud.google.com/sdk/docs/properties)."""
    url = f"http://127.0.0.1:{port}"
    paths = {"STORAGE": "storage/v1/"} | dict.fromkeys(GOOGLE_APIS, "")
    return {
        # A folder of its own: the user's accounts and configurations stay as they are.
        "CLOUDSDK_CONFIG": str(home.gcloud_config),
        **{f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{api}": f"{url}/{paths[api]}" for api in paths},
        # gcloud prints its endpoint, so the secret is not in it; nor does an upload keep its path.
        "CLOUDSDK_AUTH_ACCESS_TOKEN": home.secret(),
        # bq reads it from a file, in this universe alone; otherwise it has gcloud print it, twice.
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(home.folder / "secret"),
        "CLOUDSDK_CORE_UNIVERSE_DOMAIN": "googleapis.com",
        # Whatever it wants of a service that is not here ends at this server, too.
        "CLOUDSDK_PROXY_TYPE": "http",
        "CLOUDSDK_PROXY_ADDRESS": "127.0.0.1",
        "CLOUDSDK_PROXY_PORT": str(port),
        "CLOUDSDK_STORAGE_MAX_RETRIES": "1",  # on loopback a server answers or is not there
        "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
        "CLOUDSDK_SURVEY_DISABLE_PROMPTS": "true",
        "CLOUDSDK_CORE_DISABLE_FILE_LOGGING": "true",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "true",  # a notebook's cell cannot answer
        "BOTO_CONFIG": str(home.boto_config),
    }


def find_misleading(own: Mapping[str, str]) -> list[str]:
    """Return the user's own variables that would lead an SDK to other endpoints or credentials."""
    return sorted(name for name in own if name.startswith(TAKEN_AWAY))


def merge_environment(own: Mapping[str, str], server: control.Status) -> dict[str, str]:
    """Return the variables with two of the user's words: the project, and where to use no proxy.

    gcloud's configuration of that project is written by `gcloud.write_configuration`.

    A project's name leads nowhere by itself. Of what is said about AWS nothing holds: a profile,
    keys and configuration files name a real account, and the local cloud has one region.
    """
    wanted = environment(server.home, server.port)
    if project := own.get("GOOGLE_CLOUD_PROJECT"):
        wanted["GOOGLE_CLOUD_PROJECT"] = project
        if project != PROJECT:
            wanted["CLOUDSDK_ACTIVE_CONFIG_NAME"] = configuration(project)
    # A proxy must not see loopback's requests, nor the secret in them.
    hosts = (own.get("no_proxy") or own.get("NO_PROXY") or "").split(",")
    for name in ("NO_PROXY", "no_proxy"):
        wanted[name] = ",".join(dict.fromkeys([*NO_PROXY.split(","), *filter(None, hosts)]))
    return wanted


def export_lines(server: control.Status) -> str:
    """Return lines for a shell with this process's environment, and where the home is."""
    folder = str(server.home.folder)
    wanted = merge_environment(os.environ, server) | {"LOCAL_CLOUD_HOME": folder}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in wanted.items()]
    return "\n".join([*(f"unset {name}" for name in find_misleading(os.environ)), *lines])
