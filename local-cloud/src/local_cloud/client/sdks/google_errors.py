"""Errors of Google's clients over REST: the classes that the same errors have over gRPC.

Over REST a client knows an error by its HTTP status alone, which several errors share: 400 is
BadRequest, whether the service said INVALID_ARGUMENT or FAILED_PRECONDITION. gRPC is the usual
transport, so everybody's `except` names the narrower classes, and nobody expects the request's URL
before the service's words.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from local_cloud.client.sdks.redaction import redact_errors


def map_answers(module: ModuleType) -> None:
    """Have google.api_core.exceptions read the canonical code in an answer."""
    redact_errors("GoogleAPICallError")(module)
    # Versions before 2.21 make errors in from_http_response, later ones in the other function.
    newer = hasattr(module, "format_http_response_error")
    name = "format_http_response_error" if newer else "from_http_response"
    original = getattr(module, name)
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def make_error(response: Any, *args: Any, **kwargs: Any) -> Any:
        problem = original(response, *args, **kwargs)
        payload = kwargs.get("payload", args[2] if len(args) > 2 else None)
        return _map_answer(module, problem, payload if newer else _read(response))

    setattr(module, name, make_error)


def _read(response: Any) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _map_answer(module: ModuleType, problem: Any, payload: Any) -> Any:
    """Return the error of the canonical code that the answer names; the given one if it has none.

    `status` is the code's name: cloud.google.com/apis/design/errors.
    """
    error = payload.get("error") if isinstance(payload, dict) else None
    if not isinstance(error, dict) or module.grpc is None:
        return problem
    code = getattr(module.grpc.StatusCode, str(error.get("status")), None)
    if code is None:
        return problem
    kind = module.exception_class_for_grpc_status(code)
    # Another HTTP status is not the service's, such as 507 with RESOURCE_EXHAUSTED on a full disk.
    if kind.code not in (None, problem.code):
        return problem
    words = error.get("message") or problem.message
    return kind(words, problem.errors, problem.details, problem.response)


def map_timeouts(module: ModuleType) -> None:
    """Have google.api_core.grpc_helpers raise DeadlineExceeded for a timeout over REST, too."""
    original = module.wrap_errors
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def wrap_errors(method: Callable[..., Any]) -> Callable[..., Any]:
        wrapped = original(method)

        @functools.wraps(wrapped)
        def call(*args: Any, **kwargs: Any) -> Any:
            from google.api_core.exceptions import DeadlineExceeded
            from requests.exceptions import Timeout

            try:
                return wrapped(*args, **kwargs)
            except Timeout as problem:
                raise DeadlineExceeded("Deadline Exceeded") from problem  # type: ignore[no-untyped-call]

        return call

    module.wrap_errors = wrap_errors  # type: ignore[attr-defined]
