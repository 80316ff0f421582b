"""What several of these tests need."""

from __future__ import annotations

import http.client
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError


@contextmanager
def refused(code: str, status: int) -> Iterator[pytest.ExceptionInfo[ClientError]]:
    """The block raises the client's error with this code and this status."""
    with pytest.raises(ClientError) as caught:
        yield caught
    response = caught.value.response
    refusal = (response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"])
    assert refusal == (code, status), response


def send(
    method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, bytes, dict[str, str]]:
    """A request as it is, without a client's help: status, body, headers."""
    address = urlsplit(os.environ["AWS_ENDPOINT_URL"])
    connection = http.client.HTTPConnection(address.netloc, timeout=20)
    try:
        connection.request(method, address.path + path, body, dict(headers or {}))
        response = connection.getresponse()
        return response.status, response.read(), {k.lower(): v for k, v in response.getheaders()}
    finally:
        connection.close()
