"""Archives that would break out, blow up or confuse: packages, source code and model files."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from testing.tally import Tally
from tests.torture.rig import BUCKET, ENDED, PARENT, Rig, pool, training_job

MODULE = b"print('the module ran')\n"
BOMB = 3 * 2**30  # bytes that an archive of 3 MB unpacks to


def run(folder: Path, seconds: float) -> Tally:
    """Send each archive to each place; every job ends, and nothing lands outside its folder."""
    tally = Tally("archives")
    with Rig(folder / "archives", tally) as rig:
        canary = folder / "canary"
        for name, content in hostile(canary):
            if name.startswith("bomb") and _free(folder) < BOMB * 2:
                tally.skipped = "the bombs, for the disk has no room to see them go off"
                continue
            for job in _sent(rig, name, content):
                state = rig.wait(job, 60 + seconds)
                if state not in ENDED:
                    tally.breaks(f"{name}: {job} has not ended: {state}")
                elif canary.exists():
                    tally.lets_in(f"{name}: written outside the job's folder")
                    canary.unlink()
                elif name.startswith("bomb") and _size(rig.home.folder) > BOMB:
                    tally.breaks(f"{name}: fills the disk with {_size(rig.home.folder) >> 20} MB")
                elif _fault(rig, job):
                    tally.breaks(f"{name}: the message speaks of a mistake of the local cloud's")
                else:
                    tally.survives()
        status, _ = rig.ask("GET", "/status")
        tally.check(status == 200, "the server does not answer any more")
    return tally


def _sent(rig: Rig, name: str, content: bytes) -> Iterator[str]:
    suffix = ".zip" if name.endswith("zip") else ".tar.gz"
    key = f"{name}{suffix}"
    rig.ask("POST", f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={key}", content)
    package = {
        "executorImageUri": pool([])["containerSpec"]["imageUri"],
        "packageUris": [f"gs://{BUCKET}/{key}"],
        "pythonModule": "trainer.task",
    }
    spec = {"workerPoolSpecs": [pool([]) | {"pythonPackageSpec": package}]}
    spec["workerPoolSpecs"][0].pop("containerSpec")
    status, answer = rig.ask("POST", f"{PARENT}/customJobs", {"displayName": name, "jobSpec": spec})
    if status == 200:
        import json

        yield str(json.loads(answer)["name"])
    rig.ask("PUT", f"/aws/{BUCKET}/{key}", content)
    values = {
        "sagemaker_program": '"task.py"',
        "sagemaker_submit_directory": f'"s3://{BUCKET}/{key}"',
    }
    body = training_job(name, [], HyperParameters=values)
    del body["AlgorithmSpecification"]["ContainerEntrypoint"]
    status, _ = rig.sagemaker("CreateTrainingJob", body)
    if status == 200:
        yield name


def hostile(canary: Path) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of each; canary: where those that break out would write."""
    up = "../" * 30 + str(canary).lstrip("/")
    good = _file("trainer-1/trainer/task.py", MODULE)
    yield "traversal", tar(good, _file(up, b"x"))
    yield "absolute", tar(good, _file(str(canary), b"x"))
    yield "symlink-out", tar(good, _link("trainer-1/out", "/tmp", tarfile.SYMTYPE))
    yield (
        "symlink-then-file",
        tar(
            _link("trainer-1/d", str(canary.parent), tarfile.SYMTYPE),
            _file(f"trainer-1/d/{canary.name}", b"x"),
        ),
    )
    yield "hardlink-out", tar(good, _link("trainer-1/h", "/etc/passwd", tarfile.LNKTYPE))
    for name, kind in (
        ("device", tarfile.CHRTYPE),
        ("pipe", tarfile.FIFOTYPE),
        ("unknown-type", b"Z"),
    ):
        yield name, tar(good, _link("trainer-1/special", "", kind))
    yield "setuid", tar(_mode(_file("trainer-1/trainer/task.py", MODULE), 0o6777))
    yield "no-permission", tar(_mode(_file("trainer-1/trainer/task.py", MODULE), 0))
    yield "same-name-twice", tar(good, _file("trainer-1/trainer", b"x"), good)
    yield "long-name", tar(_file("trainer-1/" + "d/" * 2000 + "f", b"x"))
    yield "name-of-bytes", tar(_file("trainer-1/\udcff\udcfe.py", b"x"))
    yield "empty", b""
    yield "not-gzip", b"hello " * 100
    yield "truncated", tar(good)[:-20]
    yield "gzip-of-nothing", gzip.compress(b"")
    yield "gzip-of-noise", gzip.compress(os.urandom(5000))
    yield "broken-pax", gzip.compress(_pax())
    yield "utf16-requirements", tar(good, _file("requirements.txt", "numpy\n".encode("utf-16")))
    yield "many-files", tar(*(_file(f"trainer-1/{n}", b"") for n in range(20_000)))
    yield "zip-traversal-zip", zipped({up: b"x", "trainer/task.py": MODULE})
    yield "zip-broken-zip", zipped({"trainer/task.py": MODULE})[:-30]
    yield "bomb", bomb("trainer-1/zeros")
    yield "bomb-source", bomb("task.py")


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A .tar.gz of these members."""
    body = io.BytesIO()
    with tarfile.open(
        fileobj=body, mode="w:gz", compresslevel=1, format=tarfile.GNU_FORMAT
    ) as file:
        for member, content in members:
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return body.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    """A .zip of these files."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as file:
        for name, content in files.items():
            file.writestr(name, content)
    return body.getvalue()


def bomb(name: str) -> bytes:
    """An archive of one file of BOMB zeros, 3 MB long."""
    member = tarfile.TarInfo(name)
    member.size = BOMB
    body = io.BytesIO()
    with gzip.GzipFile(fileobj=body, mode="wb", compresslevel=9) as file:
        file.write(member.tobuf(tarfile.GNU_FORMAT))
        for _ in range(BOMB >> 24):
            file.write(bytes(1 << 24))
        file.write(bytes(1024))
    return body.getvalue()


def _file(name: str, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), content


def _link(name: str, target: str, kind: bytes) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, b""


def _mode(member: tuple[tarfile.TarInfo, bytes], mode: int) -> tuple[tarfile.TarInfo, bytes]:
    member[0].mode = mode
    return member


def _pax() -> bytes:
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, 20
    return member.tobuf(tarfile.GNU_FORMAT) + b"not a pax header at".ljust(512, b"\0") + bytes(1024)


def _fault(rig: Rig, job: str) -> bool:
    if "/" in job:
        text = str(rig.get(f"/v1/{job}").get("error"))
    else:
        text = rig.sagemaker("DescribeTrainingJob", {"TrainingJobName": job})[1].decode()
    return "made a mistake" in text or "Traceback" in text


def _size(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(where, name)).st_size
            except OSError:
                continue
    return total


def _free(folder: Path) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize
