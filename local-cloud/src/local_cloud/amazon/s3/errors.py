"""Refusals in S3's own codes, words and XML.

They are listed at docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html.
"""

from __future__ import annotations

import secrets
from xml.sax.saxutils import escape

from starlette.responses import Response

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.store import errors as store


class Refusal(ServiceError):
    """An answer other than success."""

    def __init__(self, code: str, message: str, status: int = 400, **details: object) -> None:
        """details: further elements of the answer, by which a client knows what is meant."""
        super().__init__(code, message, status)
        self.details = details
        self.headers: dict[str, str] = {}


def invalid(message: str, **details: object) -> Refusal:
    """Return the refusal of a value that makes no sense."""
    return Refusal("InvalidArgument", message, 400, **details)


def no_such_bucket(name: str) -> Refusal:
    """Return the refusal of a bucket that does not exist."""
    message = "The specified bucket does not exist"
    return Refusal("NoSuchBucket", message, 404, BucketName=name)


def no_such_key(name: str) -> Refusal:
    """Return the refusal of an object that does not exist."""
    return Refusal("NoSuchKey", "The specified key does not exist.", 404, Key=name)


def precondition_failed(condition: str) -> Refusal:
    """condition: the header that asked for it."""
    message = "At least one of the pre-conditions you specified did not hold"
    return Refusal("PreconditionFailed", message, 412, Condition=condition)


def invalid_xml() -> Refusal:
    """Return the refusal of XML that is none, or not what this call takes."""
    message = "The XML you provided was not well-formed or did not validate against our published"
    return Refusal("MalformedXML", message + " schema")


def from_store(error: store.StoreError, bucket: str) -> Refusal:
    """Return what the service says where the store says this of something in the bucket."""
    match error:
        case store.NoSuchBucket():
            return no_such_bucket(bucket)
        case store.NoSuchObject(name=name):
            return no_such_key(name)
        case store.BucketNotEmpty():
            message = "The bucket you tried to delete is not empty"
            return Refusal("BucketNotEmpty", message, 409, BucketName=bucket)
        case store.NoSpace():
            return Refusal("QuotaExceeded", str(error), 507)  # with 503, clients would try again
        case store.Unsteady():
            return Refusal("SlowDown", str(error), 503)  # clients try again
        case _:
            return invalid(str(error))


def render(problem: ServiceError, resource: str) -> Response:
    """Answer as the service says it; resource: the request's path."""
    if problem.status == 304:
        headers = problem.headers if isinstance(problem, Refusal) else {}
        return Response(status_code=304, headers=headers)
    request = secrets.token_hex(8).upper()
    details = problem.details if isinstance(problem, Refusal) else {}
    elements = {"Code": problem.code, "Message": str(problem), **details}
    elements |= {"Resource": resource, "RequestId": request}
    inner = "".join(f"<{tag}>{text(str(item))}</{tag}>" for tag, item in elements.items())
    headers = {"x-amz-request-id": request}
    if isinstance(problem, Refusal):
        headers |= problem.headers
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{inner}</Error>'
    return Response(body, problem.status, headers, "application/xml")


def text(value: str) -> str:
    """Return a text in XML; like the service, with characters that XML 1.0 has no place for."""
    return "".join(
        f"&#x{ord(each):X};" if each < " " or "\ud800" <= each <= "\udfff" else each
        for each in escape(value)
    )
