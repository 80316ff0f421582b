"""What a bucket holds: its bytes and byte-seconds, added up once where that takes long."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from local_cloud.store.objects import Objects

# A sum is given again for so many times as long as adding up took, so that a page that is open
# keeps a core busy for a twentieth of the time: 3 s of a bucket with 250,000 objects are a minute.
AGAIN = 20
INSTANT = 0.1  # seconds; a sum that takes less is never given again


@dataclass(frozen=True)
class BucketBytes:
    """What a bucket holds; times are seconds since the epoch."""

    size: int  # bytes
    since: float  # the oldest object was written
    byte_seconds: float  # until `at`, of each object since it was written
    at: float

    def until(self, now: float) -> BucketBytes:
        """Return the same, with its byte-seconds until a later moment."""
        more = self.size * (now - self.at)
        return replace(self, byte_seconds=self.byte_seconds + more, at=now)


@dataclass(frozen=True)
class _Known:
    state: Hashable  # of the bucket, when this was added up
    fresh_until: float  # of time.monotonic()
    stored: BucketBytes


class _Sums(dict[str, _Known]):
    """The sums of a service's buckets, by name; one is added up at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


_sums: WeakKeyDictionary[Objects, _Sums] = WeakKeyDictionary()


def of_bucket(objects: Objects, bucket: str, now: float, *, state: Hashable) -> BucketBytes:
    """Return what a bucket holds. Raises NoSuchBucket.

    state: what changes when an object is overwritten or removed by a request; then, all is added
    up anew. What has been added since may be missing for a minute, if there are very many objects.
    """
    sums = _sums.setdefault(objects, _Sums())
    with sums.lock:
        known, began = sums.get(bucket), time.monotonic()
        if known and known.state == state and began < known.fresh_until and now >= known.stored.at:
            return known.stored.until(now)
        stored = _add_up(objects, bucket, now)
        took = time.monotonic() - began
        fresh_until = time.monotonic() + (AGAIN * took if took > INSTANT else 0.0)
        sums[bucket] = _Known(state, fresh_until, stored)
    return stored


def _add_up(objects: Objects, bucket: str, now: float) -> BucketBytes:
    size, since, byte_seconds = 0, math.inf, 0.0
    for bytes_, created in objects.sizes(bucket):
        if bytes_:
            size += bytes_
            since = min(since, created)
            byte_seconds += bytes_ * max(0.0, now - created)
    return BucketBytes(size, since, byte_seconds, now)
