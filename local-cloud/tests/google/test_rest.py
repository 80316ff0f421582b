"""What Google's APIs share: the parts of a request, pages, and refusals in one shape."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request

from local_cloud.google import rest
from local_cloud.google.definitions.values import WrongValue
from local_cloud.google.rest import (
    Api,
    ApiError,
    BadJson,
    Call,
    GoogleError,
    Invalid,
    NotAnObject,
    cut_page,
    inners,
    page_token,
    parse_json,
    read_page_token,
)
from local_cloud.http.bodies import LARGEST, TooLarge


def refuse(problem: Exception, _: Request) -> GoogleError:
    return ApiError("INVALID_ARGUMENT", f"{type(problem).__name__}: {problem}")


def handle(call: Call) -> Any:
    match call.body.get("filter"):
        case "nothing":
            return None
        case "missing":
            raise ApiError("NOT_FOUND", "There is none.")
        case "own":
            return {"found": call.whole("max"), "all": call.flag("all")}
    return call.body


API = Api(
    "logging.v2",
    {ApiError: lambda error, _: error, WrongValue: refuse, Invalid: refuse, TooLarge: refuse},
)
APP = Starlette(routes=[API.route("POST", "/v2/entries:list", handle)])


def send(content: bytes, query: str = "") -> tuple[int, Any]:
    async def post() -> httpx.Response:
        transport = httpx.ASGITransport(APP)
        async with httpx.AsyncClient(transport=transport, base_url="http://local") as client:
            return await client.post(f"/v2/entries:list{query}", content=content)

    response = asyncio.run(post())
    return response.status_code, response.json() if response.content else None


def test_a_handler_gets_the_checked_body_and_its_document_is_the_answer() -> None:
    assert send(b'{"pageSize": "3", "unknown": 1}') == (200, {"pageSize": 3})
    assert send(b"") == (200, {})
    assert send(b'{"filter": "nothing"}') == (204, None)
    assert send(b'{"filter": "own"}', "?max=7&all=TRUE") == (200, {"found": 7, "all": True})


def test_a_refusal_has_the_shape_that_google_s_libraries_read() -> None:
    error = {"code": 404, "message": "There is none.", "status": "NOT_FOUND"}
    assert send(b'{"filter": "missing"}') == (404, {"error": error})
    error = {"code": 409, "message": "There is one.", "errors": [{"reason": "duplicate"}]}
    answer = GoogleError(409, "There is one.", errors=[{"reason": "duplicate"}]).response()
    assert (answer.status_code, json.loads(answer.body)) == (409, {"error": error})


@pytest.mark.parametrize(
    ("content", "query", "kind"),
    [
        (b"{nope", "", "BadJson"),
        (b"[1]", "", "NotAnObject"),
        (b'{"pageSize": []}', "", "WrongValue"),
        (b"{}", "?prettyPrint=perhaps", "WrongValue"),
        (b'{"filter": "own"}', "?max=1_000", "Invalid"),
        (b" " * (LARGEST + 1), "", "TooLarge"),
    ],
)
def test_an_api_words_what_is_wrong_with_a_request(content: bytes, query: str, kind: str) -> None:
    code, answer = send(content, query)
    assert (code, answer["error"]["message"].split(":")[0]) == (400, kind)


def test_what_is_no_object_is_bad_json() -> None:
    with pytest.raises(NotAnObject):
        parse_json(b"null")
    with pytest.raises(BadJson, match="NaN"):
        parse_json(b'{"a": NaN}')
    with pytest.raises(Invalid, match="a list of objects"):
        inners({"rows": [1]}, "rows")


def test_a_page_has_so_many_bytes_at_most_and_one_item_at_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rest, "PAGE_BYTES", 100)
    items = ["x" * 40, "y" * 40, "z" * 40, "w" * 400, "v"]
    pages, after = [], 0
    while True:
        page, after = cut_page(items, after, 1000)
        pages.append([text[0] for text in page])
        if not after:
            break
    assert pages == [["x", "y"], ["z"], ["w"], ["v"]]


@given(st.lists(st.integers()), st.integers(1, 5))
def test_the_pages_of_a_list_are_the_list(items: list[int], size: int) -> None:
    pages, after = [], 0
    while True:
        page, after = cut_page(items, after, size)
        pages += page
        if not after:
            break
        after = int(read_page_token(page_token(str(after))))
    assert pages == items
