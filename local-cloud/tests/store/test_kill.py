"""A process that is killed at any moment leaves whole objects, and all that it acknowledged."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import time
from pathlib import Path

from local_cloud.store.objects import Objects
from local_cloud.store.records import Records

WRITER = """
import hashlib, itertools, random, sys
from pathlib import Path
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records

folder, seed = Path(sys.argv[1]), int(sys.argv[2])
objects = Objects(folder / "buckets", Records(folder / "records.sqlite"))
for number in itertools.count():
    chosen = random.Random(seed * 1000 + number)
    name = chosen.choice(["a", "a/b", "a/b/c", "d/e"]) + chosen.choice(["", "-1", "-2", "/x"])
    body = objects.upload_file()
    content = f"{seed} {number} ".encode() * 20_000
    body.write_bytes(content)
    attributes = {"md5": hashlib.md5(content).hexdigest()}
    objects.put("k", name, body, attributes=attributes)
    print(name, hashlib.md5(content).hexdigest(), flush=True)
"""


def test_what_was_acknowledged_is_whole_and_there(tmp_path: Path) -> None:
    records = Records(tmp_path / "records.sqlite")
    Objects(tmp_path / "buckets", records).create_bucket("k", {})
    records.close()
    acknowledged: dict[str, str] = {}
    for seed in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(seed)],
            stdout=subprocess.PIPE,
            text=True,
        ) as writer:
            assert writer.stdout
            lines = [writer.stdout.readline()]  # it is at work
            time.sleep(random.Random(seed).uniform(0, 0.05))
            writer.kill()
            lines += writer.stdout.readlines()
        acknowledged |= dict(line.split() for line in lines if line.endswith("\n"))
        _check(tmp_path, acknowledged)


def _check(folder: Path, acknowledged: dict[str, str]) -> None:
    records = Records(folder / "records.sqlite")
    objects = Objects(folder / "buckets", records)
    objects_by_name = {each.name: each for each in objects.list("k")}
    for name, md5 in acknowledged.items():
        content = objects_by_name[name].path.read_bytes()
        assert objects_by_name[name].md5 == hashlib.md5(content).digest()
        if objects_by_name[name].md5.hex() != md5:
            # Written once more, and killed before it could say so: then that write is whole.
            start = content.split(b" ", 2)
            assert content == b"%s %s " % (start[0], start[1]) * 20_000
            acknowledged[name] = objects_by_name[name].md5.hex()
        assert (
            objects_by_name[name].attributes.get("md5", objects_by_name[name].md5.hex())
            == objects_by_name[name].md5.hex()
        )
    assert [path for path in (folder / "buckets-uploads").iterdir() if path.is_file()] == []
    records.close()
