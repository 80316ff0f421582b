"""The XML API: what a request and an answer look like, and how a refusal does."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from xml.etree import ElementTree

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from local_cloud.google.definitions.values import WrongValue
from local_cloud.google.gcs.call import Call, take_the_rest
from local_cloud.google.gcs.errors import Refusal, from_store
from local_cloud.google.rest import Endpoint, Invalid
from local_cloud.http.bodies import TooLarge
from local_cloud.store.errors import BadName, DigestMismatch, NoSuchBucket, NoSuchObject, StoreError

_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
# This API's codes where JSON has reasons: cloud.google.com/storage/docs/xml-api/reference-status
_CODES: dict[type[Exception], str] = {
    NoSuchBucket: "NoSuchBucket",
    NoSuchObject: "NoSuchKey",
    DigestMismatch: "BadDigest",
    BadName: "InvalidURI",
}


class XmlRefusal(Refusal):
    """An answer other than success, in XML."""

    def __init__(self, code: int, reason: str, message: str, *, details: str = "") -> None:
        """reason: the service's word, such as NoSuchUpload; details: what it adds."""
        super().__init__(code, reason, message)
        self.reason, self.more = reason, details

    def response(self) -> Response:
        """Return the answer; clients read all three elements."""
        content = {"Code": self.reason, "Message": str(self), "Details": self.more}
        return answer("Error", content, status=self.code, namespace="")


def answer(
    name: str, content: dict[str, Any], *, status: int = 200, namespace: str = _NAMESPACE
) -> Response:
    """Return an element as the answer; content: the elements in it, a list for several."""
    root = ElementTree.Element(name, {"xmlns": namespace} if namespace else {})
    _fill(root, content)
    text = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return Response(text, status, media_type="application/xml; charset=UTF-8")


def _fill(element: ElementTree.Element, content: dict[str, Any]) -> None:
    for name, value in content.items():
        for each in value if isinstance(value, list) else [value]:
            inner = ElementTree.SubElement(element, name)
            if isinstance(each, dict):
                _fill(inner, each)
            else:
                inner.text = str(each)


def parse(body: bytes) -> ElementTree.Element:
    """Return a body's root. Raises XmlRefusal, also for a document with declarations."""
    if b"<!" not in body:  # entities could grow without end
        try:
            return ElementTree.fromstring(body)
        except (ElementTree.ParseError, ValueError):
            pass
    raise XmlRefusal(400, "MalformedXML", "The XML you provided was not well-formed.")


def stream_to(
    function: Callable[[Call, AsyncIterator[bytes]], Awaitable[Response]],
) -> Endpoint:
    """Make an endpoint that reads its body as it comes, and refuses in XML."""

    @functools.wraps(function)
    async def endpoint(request: Request) -> Response:
        chunks = request.stream()
        try:
            return await function(Call(request), chunks)
        except ClientDisconnect:
            return Response(status_code=499)  # nobody is there to read it
        except (Refusal, WrongValue, Invalid, StoreError, TooLarge) as problem:
            await take_the_rest(chunks)
            return _refusal(problem).response()

    return endpoint


def _refusal(problem: Exception) -> XmlRefusal:
    if isinstance(problem, XmlRefusal):
        return problem
    if isinstance(problem, StoreError):
        refusal = from_store(problem)
        return XmlRefusal(refusal.code, _CODES.get(type(problem), _reason(refusal)), str(refusal))
    if isinstance(problem, Refusal):
        return XmlRefusal(problem.code, _reason(problem), str(problem))
    code = 413 if isinstance(problem, TooLarge) else 400
    return XmlRefusal(code, "InvalidArgument", "Invalid argument.", details=str(problem))


def _reason(refusal: Refusal) -> str:
    return str(refusal.details["errors"][0]["reason"])
