"""Archives, well made and not."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    """A .tar.gz with these members in this order."""
    with tarfile.open(path, "w:gz") as archive:
        for member, body in members:
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return path


def file(name: str, body: bytes = b"x") -> tuple[tarfile.TarInfo, bytes]:
    """A member that is a file."""
    return tarfile.TarInfo(name), body


def link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    """A member that is a link, or of another kind."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member, b""


SETUP = (
    "from setuptools import setup\nsetup(name='lcpacked', version='1.0', py_modules=['lcpacked'])"
)


def sdist(path: Path, *, time: int = 0, setup: str = SETUP, code: str = "") -> Path:
    """A project of one module, lcpacked, as an SDK packs it for each job: with the time of that."""
    members = [file("lcpacked-1.0/setup.py", setup.encode())]
    members.append(file("lcpacked-1.0/lcpacked.py", code.encode()))
    for member, _ in members:
        member.mtime = time
    return tar(path, *members)
