"""Refusals in BigQuery's own words and shape.

Codes and reasons: cloud.google.com/bigquery/docs/error-messages.
"""

from __future__ import annotations

import logging

from local_cloud.google.rest import GoogleError

LOCATION = "US"


class Problem(GoogleError):
    """An answer other than success, of a request or of a job."""

    def __init__(self, code: int, reason: str, message: str, location: str = "") -> None:
        """code: of HTTP; reason: the service's word; location: where in the request it is."""
        self.reason, self.location = reason, location
        super().__init__(code, message)
        self.details = {"errors": [{"domain": "global"} | self.entry()]}

    def entry(self) -> dict[str, str]:
        """Return the error as a job's `errorResult` has it."""
        where = {"location": self.location} if self.location else {}
        return {"reason": self.reason, "message": str(self)} | where


def invalid(message: str) -> Problem:
    """Return the refusal of a request that makes no sense."""
    return Problem(400, "invalid", message)


def missing_parameter(field: str) -> Problem:
    """Return the refusal of a request that lacks a field."""
    return Problem(400, "required", f"Required parameter is missing: {field}")


def invalid_query(message: str) -> Problem:
    """Return the refusal of SQL that makes no sense."""
    return Problem(400, "invalidQuery", message, "query")


def not_implemented(what: str) -> Problem:
    """Return the refusal of what the service can do and the local cloud cannot."""
    return Problem(501, "notImplemented", f"not implemented in the local cloud: {what}")


def mistake(problem: Exception) -> Problem:
    """Log an error of the local cloud's own, and return it as a refusal.

    Its reason is none of those after which clients send a request again for minutes:
    google.cloud.bigquery.retry has backendError, badGateway, internalError, rateLimitExceeded.
    """
    logging.getLogger(__name__).error("a request to BigQuery failed", exc_info=problem)
    what = f"the local cloud made a mistake ({type(problem).__name__}: {problem})"
    return Problem(500, "fault", what)


def no_such_dataset(project: str, dataset: str) -> Problem:
    """Return the refusal of a dataset that does not exist."""
    name = f"{project}:{dataset}"
    return Problem(
        404, "notFound", f"Not found: Dataset {name} was not found in location {LOCATION}"
    )


def no_such_table(project: str, dataset: str, table: str) -> Problem:
    """Return the refusal of a table that does not exist."""
    name = f"{project}:{dataset}.{table}"
    return Problem(404, "notFound", f"Not found: Table {name} was not found in location {LOCATION}")


def duplicate(what: str, name: str) -> Problem:
    """Return the refusal of a name that is taken; what: Dataset, Table, Job."""
    return Problem(409, "duplicate", f"Already Exists: {what} {name}")
