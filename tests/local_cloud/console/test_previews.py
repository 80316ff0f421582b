"""Previews of files that are broken on purpose: each ends in words, none in an error."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from local_cloud.console import previews

SIZE = 1 << 12


def array(header: str | None = None) -> bytes:
    """A NumPy file of two numbers; header: the literal to have instead of the true one."""
    body = io.BytesIO()
    np.save(body, np.zeros(2))
    if header is None:
        return body.getvalue()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


def archive(folder: Path, member: bytes, compression: int = zipfile.ZIP_STORED) -> Path:
    path = folder / "a.npz"
    with zipfile.ZipFile(path, "w", compression) as made:
        made.writestr("x.npy", member)
    return path


def change(path: Path, start: bytes, offset: int, new: bytes) -> None:
    """Overwrite bytes behind each place where these are."""
    content = bytearray(path.read_bytes())
    at = content.find(start)
    while at >= 0:
        content[at + offset : at + offset + len(new)] = new
        at = content.find(start, at + 4)
    path.write_bytes(content)


def shown(path: Path) -> str:
    """What the preview says of the first array."""
    found = previews.of(path, path.name, SIZE)
    assert found.kind == "table"
    return found.rows[1][2]


def test_an_array_is_shown_by_its_shape_and_type(tmp_path: Path) -> None:
    assert shown(archive(tmp_path, array())) == "2, float64"


@pytest.mark.parametrize(
    "header", ["(" * 118, "[" * 9000, "{[]: 1}", "{'descr': (), 'fortran_order': 1, 'shape': ()}"]
)
def test_a_header_that_is_no_literal_is_not_an_array(tmp_path: Path, header: str) -> None:
    assert shown(archive(tmp_path, array(header))) == "not an array"


def test_corrupt_deflate_data_is_not_an_array(tmp_path: Path) -> None:
    path = archive(tmp_path, array(), zipfile.ZIP_DEFLATED)
    change(path, b"PK\x03\x04", 35, b"\xff" * 20)  # behind the local header and the name
    assert shown(path) == "not an array"


def test_an_encrypted_array_is_said_to_be_so(tmp_path: Path) -> None:
    path = archive(tmp_path, array())
    change(path, b"PK\x03\x04", 6, b"\x01")
    change(path, b"PK\x01\x02", 8, b"\x01")
    assert shown(path) == "encrypted"


def test_an_unsupported_compression_is_said_to_be_so(tmp_path: Path) -> None:
    path = archive(tmp_path, array())
    change(path, b"PK\x03\x04", 8, b"\x61")  # 97: WavPack
    change(path, b"PK\x01\x02", 10, b"\x61")
    assert shown(path) == "its compression is not supported"


@pytest.mark.parametrize("name", ["a.npz", "a.zip", "a.tar.gz", "a.tar"])
@pytest.mark.parametrize(
    "body", [b"", b"PK\x03\x04", b"\x1f\x8b\x08" + b"\0" * 7 + b"\xff" * 900, b"\xff" * 2000]
)
def test_what_is_no_archive_has_no_preview(tmp_path: Path, name: str, body: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(body)
    found = previews.of(path, name, len(body))
    assert found.kind == "none" and "cannot be read" in found.note
