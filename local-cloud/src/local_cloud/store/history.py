"""What a bucket has held: kept when an object is deleted or overwritten, for its byte-seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from local_cloud.store.records import Records

KIND = "held"  # by the bucket's name; it outlives the bucket


@dataclass(frozen=True)
class Held:
    """What a bucket has held and holds no more; times are seconds since the epoch."""

    byte_seconds: float
    since: float  # the first of it was written
    until: float  # the last of it was deleted or overwritten


def add(records: Records, bucket: str, *, size: int, since: float, until: float) -> None:
    """Add so many bytes, held from then until then, in the caller's transaction."""
    more = Held(size * max(0.0, until - since), since, until)
    if document := records.get(KIND, bucket):
        before = Held(**document)
        more = replace(
            more,
            byte_seconds=before.byte_seconds + more.byte_seconds,
            since=min(before.since, since),
            until=max(before.until, until),
        )
    records.put(KIND, bucket, asdict(more))


def list_held(records: Records) -> Iterator[tuple[str, Held]]:
    """Yield the buckets that have held something, by name, deleted ones too."""
    for bucket, document in records.list(KIND):
        yield bucket, Held(**document)
