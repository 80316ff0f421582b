"""Nobody else gets in: another user of the machine, or a page in the user's browser."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from google.cloud import storage
from starlette.applications import Starlette

from local_cloud import LocalCloudError
from local_cloud.client.control import Status
from local_cloud.client.home import Home
from local_cloud.http.guard import Guard


def ask(cloud: Status, path: str, **headers: str) -> tuple[int, bytes]:
    address = urlsplit(cloud.url or "")
    connection = http.client.HTTPConnection("127.0.0.1", address.port)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    response = answer.status, answer.read()
    connection.close()
    return response


def secret(cloud: Status) -> str:
    return urlsplit(cloud.url or "").path


def test_the_secret_opens(cloud: Status) -> None:
    assert ask(cloud, f"{secret(cloud)}/status")[0] == 200


def test_all_of_the_path_behind_the_secret_arrives(cloud: Status) -> None:
    code, said = ask(cloud, f"{secret(cloud)}/storage/v1/b/nobody-made-this?fields=name")
    assert code == 404
    assert b"bucket" in said


@pytest.mark.parametrize(
    "path", ["/", "/status", "//status", "/wrong/status", "/wrong", "/%2e%2e/status"]
)
def test_without_the_secret_nothing_is_told(cloud: Status, path: str) -> None:
    code, said = ask(cloud, path)
    assert code == json.loads(said)["error"]["code"] == 403
    assert secret(cloud).encode() not in said


def test_the_secret_opens_as_an_access_token_too(cloud: Status) -> None:
    bearer = {"Authorization": f"Bearer {secret(cloud)[1:]}"}
    path = "/storage/v1/b/nobody-made-this?fields=name"
    code, said = ask(cloud, path, **bearer)
    assert code == 404 and b"bucket" in said
    code, said = ask(cloud, f"{secret(cloud)}{path}", **bearer)  # both: the path's counts
    assert code == 404 and b"bucket" in said
    assert ask(cloud, path, **bearer, Host="evil.example")[0] == 403
    assert ask(cloud, path, **bearer, Origin="http://evil.example")[0] == 403
    assert ask(cloud, path, Authorization="Bearer wrong")[0] == 403
    assert ask(cloud, path, Authorization=f"Basic {secret(cloud)[1:]}")[0] == 403


def test_links_for_a_client_with_a_token_hold_no_secret(cloud: Status) -> None:
    bearer = {"Authorization": f"Bearer {secret(cloud)[1:]}"}
    with contextlib.closing(storage.Client()) as client:
        client.create_bucket("has-links")
        content = json.loads(ask(cloud, "/storage/v1/b/has-links", **bearer)[1])
        client.bucket("has-links").delete()
    port = urlsplit(cloud.url or "").port
    assert content["selfLink"] == f"http://127.0.0.1:{port}/storage/v1/b/has-links"


def test_no_tunnel_leads_elsewhere(cloud: Status) -> None:
    """gcloud has the server as its proxy, so that none of its requests leaves the machine."""
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(cloud.url or "").port)
    connection.set_tunnel("compute.googleapis.com", 443)
    with pytest.raises(OSError, match=r"403 compute\.googleapis\.com is not part of the local"):
        connection.request("GET", "/")
    connection.close()


def test_a_foreign_host_or_origin_is_refused_although_it_knows_the_secret(cloud: Status) -> None:
    path = f"{secret(cloud)}/status"
    assert ask(cloud, path, Host="evil.example")[0] == 403
    assert ask(cloud, path, Origin="http://evil.example")[0] == 403
    assert ask(cloud, path, Origin="null")[0] == 403
    port = urlsplit(cloud.url or "").port
    assert ask(cloud, path, Origin=f"http://127.0.0.1:{port}")[0] == 200


@pytest.mark.parametrize("header", ["Host", "Origin"])
@pytest.mark.parametrize("others", [".evil.example", "0", "@evil.example", "/"])
def test_a_host_or_origin_that_only_begins_like_ours_is_refused(
    cloud: Status, header: str, others: str
) -> None:
    scheme = "http://" if header == "Origin" else ""
    port = urlsplit(cloud.url or "").port
    path = f"{secret(cloud)}/status"
    for ours in ("127.0.0.1", f"127.0.0.1:{port}"):
        assert ask(cloud, path, **{header: f"{scheme}{ours}{others}"})[0] == 403
        assert ask(cloud, path, **{header: f"{scheme}evil.example.{ours}"})[0] == 403


def test_it_listens_on_loopback_only(cloud: Status) -> None:
    port = urlsplit(cloud.url or "").port or 0
    names = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True)
    for address in names.stdout.split():
        with pytest.raises(OSError), socket.create_connection((address, port), timeout=1):
            pass


def test_the_secret_lies_where_only_the_owner_reads(cloud: Status) -> None:
    assert (cloud.home.folder / "secret").stat().st_mode & 0o777 == 0o600
    assert cloud.home.folder.stat().st_mode & 0o777 == 0o700
    assert len(secret(cloud)) > 40


@pytest.mark.parametrize("content", ["", "\n", "short"])
def test_a_damaged_secret_opens_nothing(tmp_path: Path, content: str) -> None:
    home = Home(tmp_path / "home")
    home.secret()
    (home.folder / "secret").write_text(content)
    with pytest.raises(
        LocalCloudError, match="secret is damaged: run `python -m local_cloud stop`"
    ):
        home.secret()


def test_this_machine_meets_the_consoles_sign_in_and_another_site_meets_nothing(
    cloud: Status,
) -> None:
    assert b"<html" in ask(cloud, "/console/")[1]
    code, said = ask(cloud, "/console/", Host="evil.example.org")
    assert code == json.loads(said)["error"]["code"] == 403


def test_an_empty_secret_is_nobodys() -> None:
    app = Starlette()
    assert not Guard(app, "", port=80, console=app, proxies=()).is_secret(b"")
