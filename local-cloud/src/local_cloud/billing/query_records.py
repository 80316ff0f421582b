"""Queries that are billed by the bytes that they process: what a warehouse notes of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from local_cloud.billing.prices import google
from local_cloud.store.records import Records

KIND = "billed-query"
# What a query is to the bill: each has its own price.
QUERY, CREATE_MODEL = "query", "CREATE MODEL"
# Of a model whose price is not known here.
EXTERNAL_MODEL = "CREATE MODEL (tree or network)"


@dataclass(frozen=True)
class Query:
    """A query that has ended; one that failed, or was answered from a cache, is not billed."""

    name: str  # of the job, as the service says it
    at: float  # its end, in seconds since the epoch
    processed: int  # bytes
    billed: int  # bytes
    kind: str = QUERY


def count_billed_bytes(tables: Iterable[int]) -> int:
    """Return the bytes that are billed of a query that processes so many of each table."""
    return sum(int(google.QUERY_ROUNDING.round_up(each)) for each in tables if each)


def note(records: Records, query: Query) -> None:
    """Keep a query for the bill, in the caller's transaction if there is one."""
    records.put(KIND, f"{query.at:017.6f} {query.name}", asdict(query))


def list_queries(records: Records) -> Iterator[Query]:
    """Yield all queries, the oldest first."""
    for _, document in records.list(KIND):
        yield Query(**document)
