"""Whatever is asked, the answer is one that Google's libraries can read."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request

from local_cloud.client.control import Status
from local_cloud.http.fallback_errors import handlers

PARENT = "/v1/projects/p/locations/l"


def ask(cloud: Status, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
    address = urlsplit(cloud.url or "")
    connection = http.client.HTTPConnection("127.0.0.1", address.port)
    connection.request(method, address.path + path, body)
    answer = connection.getresponse()
    response = answer.status, json.loads(answer.read())
    connection.close()
    return response


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/", 404),
        ("GET", "/nothing", 404),
        ("GET", "//v1/projects", 404),
        ("POST", "/stop/", 404),
        ("GET", "/ui/projects/p/locations/l/nothing", 404),
        ("PATCH", "/status", 405),
        ("OPTIONS", f"{PARENT}/customJobs", 405),
        ("TRACE", "/storage/v1/b", 405),
    ],
)
def test_an_unknown_address_is_named(cloud: Status, method: str, path: str, code: int) -> None:
    status, answer = ask(cloud, method, path)
    assert (status, answer["error"]["code"]) == (code, code)
    assert f"{method} {path}" in answer["error"]["message"]
    assert urlsplit(cloud.url or "").path not in answer["error"]["message"]  # the secret


@pytest.mark.parametrize("collection", ["customJobs", "trainingPipelines", "models:upload"])
@pytest.mark.parametrize("body", [b'{"a":' * 100_000, b"[" * 100_000], ids=["objects", "lists"])
def test_json_that_is_too_deep_is_refused(cloud: Status, collection: str, body: bytes) -> None:
    code, answer = ask(cloud, "POST", f"{PARENT}/{collection}", body)
    assert (code, answer["error"]["status"]) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    "query", ["pageSize=-1", "pageSize=x", "pageToken=LTU%3D", "pageToken=%ff"]
)
def test_a_page_that_cannot_be_is_refused(cloud: Status, query: str) -> None:
    code, answer = ask(cloud, "GET", f"{PARENT}/customJobs?{query}")
    assert (code, answer["error"]["status"]) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (OSError(28, "No space left on device"), 507, "No space left on device): free some space"),
        (ValueError("x"), 500, "made a mistake (ValueError: x); its log, /home/server.log, has"),
    ],
)
def test_a_full_disk_and_a_fault_are_said(problem: Exception, code: int, words: str) -> None:
    handlers_by_kind = handlers(Path("/home/server.log"))
    handler = next(
        handlers_by_kind[kind] for kind in type(problem).__mro__ if kind in handlers_by_kind
    )
    answer = handler(Request({"type": "http"}), problem)
    assert answer.status_code == code
    assert words in json.loads(bytes(answer.body))["error"]["message"]
