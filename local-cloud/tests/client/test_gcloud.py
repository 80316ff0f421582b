"""gcloud's configurations in the local cloud's folder: what the user sets stays."""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest

from local_cloud.client.control import Status
from local_cloud.client.environment import environment, merge_environment
from local_cloud.client.gcloud import SERVICES, configuration, write_configuration
from local_cloud.client.home import Home


@pytest.fixture
def own(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


def read(home: Home, name: str) -> configparser.RawConfigParser:
    configuration = configparser.RawConfigParser()
    assert configuration.read(home.gcloud_config / "configurations" / f"config_{name}")
    return configuration


def test_no_variable_holds_what_a_user_may_set(own: Home) -> None:
    """It would win over `gcloud config set`, in silence."""
    variables = environment(own, 1)
    assert not {"CLOUDSDK_CORE_PROJECT", "CLOUDSDK_CORE_ACCOUNT", "CLOUDSDK_AI_REGION"} & set(
        variables
    )
    write_configuration(own, 1)
    assert (own.gcloud_config / "active_config").read_text() == "default"
    default = read(own, "default")
    assert default["core"]["project"] == "local-project"
    assert default["ai"]["region"] == "us-central1"


def test_what_the_user_has_set_stays_and_endpoints_follow_the_port(own: Home) -> None:
    write_configuration(own, 1)
    path = own.gcloud_config / "configurations" / "config_default"
    path.write_text(path.read_text().replace("local-project", "of-the-user"))
    write_configuration(own, 2)
    configuration = read(own, "default")
    assert configuration["core"]["project"] == "of-the-user"
    endpoints = configuration["api_endpoint_overrides"]
    assert endpoints["artifactregistry"] == "http://127.0.0.1:2/absent/artifactregistry/"
    assert set(endpoints) == set(SERVICES)


def test_a_project_that_the_user_s_variable_names_has_a_configuration(own: Home) -> None:
    server = Status(own, "", {})
    own.write_address({"port": 1, "pid": 1})
    wanted = merge_environment({"GOOGLE_CLOUD_PROJECT": "example.com:mine"}, server)
    assert wanted["CLOUDSDK_ACTIVE_CONFIG_NAME"] == "of-example-com-mine"
    write_configuration(own, 1, "example.com:mine")
    assert read(own, "of-example-com-mine")["core"]["project"] == "example.com:mine"
    assert configuration("local-project") == "default"
