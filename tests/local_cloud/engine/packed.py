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
