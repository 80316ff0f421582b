"""Files that were made to hurt, at which somebody looks in the console: the server answers all."""

from __future__ import annotations

import json
import random
import tarfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import psutil

from local_cloud.client.control import status
from testing.tally import Tally
from testing.visitor import Visitor
from tests import bombs
from tests.torture.rig import BUCKET, PARENT, Rig

GIGABYTE = 1 << 30
MOST_GROWTH = 300 << 20  # bytes of the server's memory
TOGETHER = 4  # lookers
TABLES = "gs://google-cloud-aiplatform/schema/dataset/metadata/tabular_1.0.0.yaml"


def run(folder: Path, seconds: float) -> Tally:
    """Look at each file, and then at damaged copies as long as there is time."""
    tally = Tally("looks")
    with Rig(folder / "looks", tally) as rig:
        server = psutil.Process(rig.home.address()["pid"])
        visitor = Visitor.of(status(rig.home))
        before = server.memory_info().rss
        end = time.monotonic() + seconds
        with ThreadPoolExecutor(TOGETHER) as lookers:
            files = _files(end)
            while several := list(islice(files, TOGETHER)):
                for name, problem in lookers.map(lambda one: _look(rig, visitor, *one), several):
                    tally.check(not problem, f"{name}: {problem}")
                grown = server.memory_info().rss - before
                if grown > MOST_GROWTH:
                    tally.breaks(f"{several[0][0]}: the server has grown by {grown >> 20} MB")
                    before += grown
    return tally


def _files(end: float) -> Iterator[tuple[str, bytes]]:
    """Each hostile file, and then damaged copies of the small ones until the time is over."""
    known = hostile()
    yield from known.items()
    chance = random.Random(1)
    small = {name: content for name, content in known.items() if len(content) < 2 << 20}
    number = 0
    while time.monotonic() < end:
        name = chance.choice(sorted(small))
        content = bytearray(small[name])
        for _ in range(chance.randint(1, 8)):
            content[chance.randrange(min(len(content), 5000))] = chance.randrange(256)
        number += 1
        yield f"{number}-{name}", bytes(content)


def hostile() -> dict[str, bytes]:
    """The files by their names."""
    return {
        "header.npz": bombs.npz(GIGABYTE),
        "pax.tar.gz": bombs.tar(tarfile.XHDTYPE, GIGABYTE),
        "global.tar.gz": bombs.tar(tarfile.XGLTYPE, GIGABYTE),
        "name.tar.gz": bombs.tar(tarfile.GNUTYPE_LONGNAME, GIGABYTE),
        "link.tgz": bombs.tar(tarfile.GNUTYPE_LONGLINK, GIGABYTE),
        "member.tar.gz": bombs.tar(tarfile.REGTYPE, 15 * GIGABYTE),
        "line.csv.gz": bombs.csv_line(GIGABYTE),
        "line.csv": b"a," * 500_000,
        "quote.csv": b'"' + b"a" * 1_000_000,
        "nested.json": bombs.nested_json(400_000),
        "wide.json": bombs.wide_json(900, 500_000),
        "half.json": bombs.surrogate_json(),
        "aliases.yaml": bombs.yaml_aliases(),
        "large.png": bombs.png(20_000),
        "small.png": bombs.png(100),
        "cut.png": bombs.png(20_000)[:40],
        "footer.parquet": bombs.parquet(),
    }


def _look(rig: Rig, visitor: Visitor, name: str, content: bytes) -> tuple[str, str]:
    """The name, and what is wrong with a look at the file, or with its statistics."""
    made, _ = rig.ask(
        "POST", f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={quote(name)}", content
    )
    if made != 200:
        return name, f"the upload was answered with {made}"
    page = visitor.get(f"/console/object?scheme=gs&name={BUCKET}&key={quote(name)}")
    if page.status != 200 or "Download" not in page:
        return name, f"its page was answered with {page.status}"
    return name, _statistics(rig, visitor, name) if ".csv" in name else ""


def _statistics(rig: Rig, visitor: Visitor, name: str) -> str:
    """What is wrong with the page of a dataset that is this file."""
    source = {"inputConfig": {"gcsSource": {"uri": [f"gs://{BUCKET}/{name}"]}}}
    dataset = {"displayName": name, "metadataSchemaUri": TABLES, "metadata": source}
    made, answer = rig.ask("POST", f"{PARENT}/datasets", dataset)
    if made != 200:
        return f"the dataset was answered with {made}"
    resource = json.loads(answer)["response"]["name"]
    page = visitor.get(f"/console/resource?kind=datasets&name={quote(resource)}")
    if page.status != 200 or ("statistics" not in page and "rows" not in page):
        return f"the dataset's page was answered with {page.status}"
    return ""
