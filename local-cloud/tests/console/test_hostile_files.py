"""Somebody looks at small files that unpack to gigabytes; the server stays small, and answers."""

from __future__ import annotations

import tarfile
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import psutil
import pytest
from google.cloud import storage

from local_cloud.client import control
from local_cloud.client.control import Status
from testing.visitor import Visitor
from tests import bombs

BUCKET = "hostile-files"
MOST_GROWTH = 100 << 20  # bytes
FILES = {
    "header.npz": (bombs.npz(1_200_000_000), "its header is larger than 64.0 KiB"),
    "pax.tar.gz": (bombs.tar(tarfile.XHDTYPE, 1_200_000_000), "Cannot be shown: a header of it"),
    "name.tar.gz": (
        bombs.tar(tarfile.GNUTYPE_LONGNAME, 1_200_000_000),
        "Cannot be shown: a header of it is larger than 1 MiB.",
    ),
    "long.tar.gz": (
        bombs.tar(tarfile.REGTYPE, 15 << 30),
        "More cannot be shown: unpacked, it is larger than 256 MiB.",
    ),
    "half.json": (bombs.surrogate_json(), r"\ud800"),
    "deep.json": (bombs.nested_json(100_000), "[[[["),
}


@pytest.fixture(scope="module")
def bucket(cloud: Status) -> storage.Bucket:
    return storage.Client(project="hostile").create_bucket(BUCKET)


@pytest.mark.parametrize("name", FILES)
def test_looking_at_it_harms_nobody(
    cloud: Status, bucket: storage.Bucket, visitor: Visitor, name: str
) -> None:
    content, words = FILES[name]
    bucket.blob(name).upload_from_string(content)
    server = psutil.Process(cloud.home.address()["pid"])
    before = server.memory_info().rss
    with ThreadPoolExecutor(1) as others:
        looking = others.submit(
            visitor.get, f"/console/object?scheme=gs&name={BUCKET}&key={quote(name)}"
        )
        answered = 0
        while not looking.done():
            assert control.status(cloud.home).running
            answered += 1
            assert server.memory_info().rss - before < MOST_GROWTH
    page = looking.result()
    assert page.status == 200 and words in page and "Download" in page
    assert answered or name.endswith(".json")
    assert server.memory_info().rss - before < MOST_GROWTH
