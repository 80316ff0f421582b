"""Make the small home of a version, which every later version has to read.

    python -m tests.homes.make_home 2026-12-24 COMMIT

The code of that commit runs, in this environment and in a folder of its own, and home_contents.py
makes all that this version can keep. What the version then reads goes into 2026-12-24.json, and its
home, without what every start makes again, into 2026-12-24.tar.xz. Both are kept for good.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
SOURCE = "local-cloud/src"


def days() -> list[str]:
    """The days of the versions whose homes are kept; the oldest first."""
    return sorted(path.name.removesuffix(".tar.xz") for path in HERE.glob("*.tar.xz"))


def noted(day: str) -> dict[str, Any]:
    """What the version of that day read of its home, by part."""
    document = json.loads((HERE / f"{day}.json").read_text(encoding="utf-8"))
    reading: dict[str, Any] = document["read"]
    return reading


def run_kept(command: str, day: str, *, checkout: Path, home: Path) -> str:
    """Run home_contents.py with the code of a checkout on a home; the last line that it prints."""
    names = ("LOCAL_CLOUD_VERTEX_URL", "STORAGE_EMULATOR_HOST", "GOOGLE_CLOUD_PROJECT")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [sys.executable, HERE / "home_contents.py", command, day],
        cwd=checkout,
        env=clean | {"LOCAL_CLOUD_HOME": str(home), "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def make(day: str, commit: str) -> None:
    with tempfile.TemporaryDirectory(prefix="kept-") as folder:
        checkout, home = Path(folder, "checkout"), Path(folder, "home")
        code = subprocess.run(
            ["git", "archive", commit], cwd=REPOSITORY, stdout=subprocess.PIPE, check=True
        )
        checkout.mkdir()
        subprocess.run(["tar", "-xf", "-"], cwd=checkout, input=code.stdout, check=True)
        if (checkout / SOURCE).is_dir():  # earlier versions have the package at the top
            checkout /= SOURCE
        with stopping(home, checkout):
            run_kept("make", day, checkout=checkout, home=home)
        pack(home, HERE / f"{day}.tar.xz")
        with stopping(home, checkout):
            content = json.loads(run_kept("read", day, checkout=checkout, home=home))
        document = {"commit": commit, "read": content}
        text = json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True)
        (HERE / f"{day}.json").write_text(f"{text}\n", encoding="utf-8")


@contextmanager
def stopping(home: Path, checkout: Path) -> Iterator[None]:
    """Stop in the end what runs in a home, by the code that has started it."""
    try:
        yield
    finally:
        command = [sys.executable, "-m", "local_cloud", "stop"]
        named = os.environ | {"LOCAL_CLOUD_HOME": str(home)}
        subprocess.run(command, cwd=checkout, env=named, stdout=subprocess.PIPE, check=True)


def pack(home: Path, archive: Path) -> None:
    """Pack the data alone: a secret, a port and the paths of a checkout are made again."""
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        packed.add(home / "data", "data", filter=_chosen)


def _chosen(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out environments, which are made again, and whose home it was."""
    if Path(member.name).name.startswith("."):
        return None
    member.uname = member.gname = ""
    member.uid = member.gid = 0
    return member


def unpack(day: str, home: Path) -> None:
    """Unpack the home of a version, as if its files had never been moved.

    The inode of an object's file and its time of change are on record: by other ones the local
    cloud sees that a job has written it.
    """
    home.mkdir(mode=0o700)
    (home / "lock").touch()  # by it a local cloud knows a folder of its own
    subprocess.run(["tar", "-xf", HERE / f"{day}.tar.xz"], cwd=home, check=True)
    for records, folder in (("records", "buckets"), ("s3", "s3-buckets")):
        with closing(sqlite3.connect(home / "data" / f"{records}.sqlite")) as database, database:
            query = "SELECT kind, name, document FROM record WHERE kind LIKE 'object/%'"
            for kind, name, text in database.execute(query).fetchall():
                path = home / "data" / folder / kind.removeprefix("object/") / name
                facts, document = path.stat(), json.loads(text)
                assert document["file"][1] == facts.st_size, path
                document["file"] = [facts.st_ino, facts.st_size, facts.st_mtime_ns]
                database.execute(
                    "UPDATE record SET document = ? WHERE kind = ? AND name = ?",
                    (json.dumps(document), kind, name),
                )


if __name__ == "__main__":
    make(*sys.argv[1:])
