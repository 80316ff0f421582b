"""What buckets hold is added up without reading it, and seldom where that takes long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cloud.billing import bucket_bytes
from local_cloud.billing.ledger import bill
from local_cloud.billing.prices import MONTH
from local_cloud.platform import Platform
from local_cloud.store import files
from local_cloud.store.objects import Objects


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    """A platform that is not started, with a bucket of three objects, two of which a job wrote."""
    made = Platform.of(tmp_path, {})
    made.gs.create_bucket("b", {})
    write(made, "a/sent.bin", 1 << 20)
    for name in ("written.bin", "a/written.bin"):
        (made.gs.folder / "b" / name).write_bytes(b"x" * (1 << 20))
    yield made
    made.close_records()


def write(platform: Platform, name: str, size: int) -> None:
    body = platform.gs.upload_file()
    body.write_bytes(b"x" * size)
    platform.gs.put("b", name, body)


def megabytes(platform: Platform) -> list[str]:
    return [leak.on for leak in bill(platform).leaks]


def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The buckets that are gone through from now on."""
    seen: list[str] = []
    sizes = Objects.sizes

    def counted(objects: Objects, bucket: str) -> Iterator[tuple[int, float]]:
        seen.append(bucket)
        return sizes(objects, bucket)

    monkeypatch.setattr(Objects, "sizes", counted)
    return seen


def test_a_bill_reads_no_object(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> Any:
        raise AssertionError("an object is read for its digests")

    monkeypatch.setattr(files, "digest", read)
    assert megabytes(platform) == ["3 MB"]


def test_a_small_bucket_is_added_up_each_time(platform: Platform) -> None:
    assert megabytes(platform) == ["3 MB"]
    (platform.gs.folder / "b" / "written.bin").unlink()
    assert megabytes(platform) == ["2 MB"]


def test_a_bucket_that_takes_long_is_added_up_again_later(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_bytes, "INSTANT", 0.0)
    monkeypatch.setattr(bucket_bytes, "AGAIN", 1e9)
    seen = scans(monkeypatch)
    first, second = bill(platform, 2e9), bill(platform, 2e9 + 86_400)
    assert seen == ["b"]
    grown = (second.rows[0].quantity - first.rows[0].quantity) * 2**30
    assert grown == pytest.approx(3 * 2**20 * 86_400 / MONTH)
    assert second.rows[0].since == first.rows[0].since


def test_and_at_once_when_an_object_is_removed_or_overwritten(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nobody is told after a clean-up that there is still something to remove."""
    monkeypatch.setattr(bucket_bytes, "INSTANT", 0.0)
    monkeypatch.setattr(bucket_bytes, "AGAIN", 1e9)
    assert megabytes(platform) == ["3 MB"]
    platform.gs.delete("b", "written.bin")
    assert megabytes(platform) == ["2 MB"]
    write(platform, "a/sent.bin", 3 << 20)
    assert megabytes(platform) == ["4 MB"]
    for name in ("a/sent.bin", "a/written.bin"):
        platform.gs.delete("b", name)
    platform.gs.delete_bucket("b")
    assert megabytes(platform) == []
