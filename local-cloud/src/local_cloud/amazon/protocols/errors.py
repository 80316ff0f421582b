"""The errors of Amazon's services: a code, a message and an HTTP status."""

from __future__ import annotations

from typing import Any

from local_cloud.errors import LocalCloudError


class ServiceError(LocalCloudError):
    """A request that a service refuses; each protocol writes it in its own way."""

    def __init__(
        self, code: str, message: str, status: int = 400, *, members: dict[str, Any] | None = None
    ) -> None:
        """`code` is the service's own name of the error: ValidationException, ResourceInUse …

        members: what botocore's model of the error has beside the message.
        """
        super().__init__(message)
        self.code = code
        self.status = status
        self.members = members or {}


def too_large(problem: Exception) -> ServiceError:
    """Return the error of a body that is longer than the local cloud reads."""
    return ServiceError("RequestEntityTooLargeException", str(problem), 413)


def not_implemented(what: str) -> ServiceError:
    """Return the error of a call, or a part of one, that the local cloud does not have.

    501, which the SDKs do not try again.
    """
    return ServiceError("NotImplemented", f"not implemented in the local cloud: {what}", 501)
