"""S3 by boto3: the local cloud, moto's server, and the disk itself without any server.

`python -m benchmarks.storage.buckets ROUNDS` prints, as JSON, seconds for each turn of each
measure; they take turns. The local cloud's objects are on the disk (fsync) when a call returns;
moto keeps its own in memory, or in temporary files, and loses them when it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from testing.measure import as_table, last_line, measure_seconds, ratio, say

LARGE = 64 * 2**20  # bytes: boto3 sends and fetches it in parts of 8 MiB, several at a time
SMALL, COUNT = 1024, 200  # bytes, objects
BUCKET = "benchmark"


def by_boto3(client: Any, folder: Path) -> dict[str, Callable[[], float]]:
    """Return what is timed, by name, of a server."""
    large, small = folder / "large", (folder / "small").read_bytes()

    def put_small() -> None:
        for number in range(COUNT):
            client.put_object(Bucket=BUCKET, Key=f"small/{number}", Body=small)

    def get_small() -> None:
        for number in range(COUNT):
            client.get_object(Bucket=BUCKET, Key=f"small/{number}")["Body"].read()

    def list_small() -> None:
        for _ in range(10):
            client.list_objects_v2(Bucket=BUCKET, Prefix="small/")

    fetched = str(folder / "fetched")
    return {
        "upload 64 MiB": lambda: measure_seconds(
            lambda: client.upload_file(str(large), BUCKET, "large")
        ),
        "download 64 MiB": lambda: measure_seconds(
            lambda: client.download_file(BUCKET, "large", fetched)
        ),
        "put 200 of 1 KiB": lambda: measure_seconds(put_small),
        "get 200 of 1 KiB": lambda: measure_seconds(get_small),
        "list 200, ten times": lambda: measure_seconds(list_small),
    }


def on_disk(folder: Path) -> dict[str, Callable[[], float]]:
    """Return what is timed by files alone; what is written is on the disk."""

    def copy() -> None:
        shutil.copyfile(folder / "large", folder / "copy")
        sync(folder / "copy")

    def write_small() -> None:
        small = (folder / "small").read_bytes()
        for number in range(COUNT):
            (folder / f"{number}.small").write_bytes(small)
            sync(folder / f"{number}.small")

    return {
        "upload 64 MiB": lambda: measure_seconds(copy),
        "put 200 of 1 KiB": lambda: measure_seconds(write_small),
    }


def sync(path: Path) -> None:
    """Wait until the file is on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def moto(folder: Path) -> Iterator[str]:
    """moto's server, from an environment of its own; gives its address."""
    with (folder / "moto.log").open("w") as log:
        command = [sys.executable, "-m", "moto.server", "-p", "5005"]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        while "Running on" not in (folder / "moto.log").read_text():
            time.sleep(0.1)
        yield "http://127.0.0.1:5005"
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Take every measure in turn, after a first round that is not counted."""
    import boto3

    import local_cloud

    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "large").write_bytes(os.urandom(LARGE))
        (folder / "small").write_bytes(os.urandom(SMALL))
        os.environ["LOCAL_CLOUD_HOME"] = str(folder / "home")
        local_cloud.activate()
        with moto(folder) as address:
            clients = {"ours": boto3.client("s3"), "moto": boto3.client("s3", endpoint_url=address)}
            kinds = {"disk": on_disk(folder)}
            for name, client in clients.items():
                client.create_bucket(Bucket=BUCKET)
                kinds[name] = by_boto3(client, folder)
            rounds = [
                {
                    kind: {name: run() for name, run in all_of.items()}
                    for kind, all_of in kinds.items()
                }
                for _ in range(int(sys.argv[1]) + 1)
            ]
        local_cloud.stop()
    print(json.dumps(rounds[1:]))


def section() -> str:
    """S3 by boto3, beside moto's server and plain files."""
    say("buckets: boto3 on the local cloud's S3 and on moto's, and plain files, take turns ...")
    rounds = last_line("-m", "benchmarks.storage.buckets", "5")
    lines = []
    for name in rounds[0]["ours"]:
        ours, moto, disk = (
            [one[kind][name] for one in rounds if name in one[kind]]
            for kind in ("ours", "moto", "disk")
        )
        cells = [f"{statistics.median(times):.2f}" if times else "" for times in (ours, moto, disk)]
        lines.append((name, *cells, f"**{ratio(moto, ours):.1f}**"))
    columns = ("the local cloud", "moto's server", "files, with fsync", "times moto's speed")
    return f"### S3 by boto3: seconds (median)\n\n{as_table(('what', *columns), lines)}"


if __name__ == "__main__":
    main()
