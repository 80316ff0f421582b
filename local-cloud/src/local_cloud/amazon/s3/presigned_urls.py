"""Requests whose authority is in the address: only their end is checked.

The signature is not: the local cloud's own address is the secret, and a presigned one holds it.
docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime

from local_cloud.amazon.s3.errors import Refusal

_LONGEST = 7 * 24 * 3600  # seconds
NEVER = 253_402_300_799  # the end of the year 9999, the last that has a date


def check(query: Mapping[str, str]) -> None:
    """Raise Refusal for a presigned address that makes no sense or has expired."""
    if "X-Amz-Signature" in query:
        ends = _begins(query.get("X-Amz-Date", "")) + _lasts(query.get("X-Amz-Expires", ""))
    elif "Signature" in query and "AWSAccessKeyId" in query:  # version 2
        ends = min(max(0, _whole(query.get("Expires", ""))), NEVER)
    else:
        return
    if time.time() > ends:
        raise Refusal(
            "AccessDenied",
            "Request has expired",
            403,
            Expires=_format_time(ends),
            ServerTime=_format_time(time.time()),
        )


def _begins(text: str) -> float:
    try:
        return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise _wrong("X-Amz-Date must be in the ISO8601 Long Format") from None


def _lasts(text: str) -> int:
    seconds = _whole(text)
    if not 0 <= seconds <= _LONGEST:
        raise _wrong(f"X-Amz-Expires must be between 0 and {_LONGEST} seconds")
    return seconds


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _wrong("X-Amz-Expires should be a number") from None


def _wrong(message: str) -> Refusal:
    return Refusal("AuthorizationQueryParametersError", message)


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
