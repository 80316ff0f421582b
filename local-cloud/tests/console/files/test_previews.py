"""Previews of files that are broken on purpose: each ends in words, none in an error."""

from __future__ import annotations

import gzip
import io
import json
import resource
import struct
import tarfile
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_cloud.bounded.errors import DamagedFile, OverLimit
from local_cloud.console.files import archive_contents, previews
from tests import bombs

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
    preview_of_file = previews.of(path, path.name, SIZE)
    assert preview_of_file.kind == "table"
    return preview_of_file.rows[1][2]


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
    preview_of_file = previews.of(path, name, len(body))
    assert preview_of_file.kind == "none" and "cannot be read" in preview_of_file.note


# ---- files that would take gigabytes or minutes -------------------------------------------------
LARGE = 1 << 30


def preview(path: Path, content: bytes) -> previews.Preview:
    """The preview of such a file, for which this process needs little memory."""
    path.write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    preview_of_file = previews.of(path, path.name, len(content))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB
    return preview_of_file


def test_an_array_whose_header_is_a_gigabyte_of_blanks(tmp_path: Path) -> None:
    shown_preview = preview(tmp_path / "a.npz", bombs.npz(LARGE))
    assert shown_preview.rows[1] == ["x.npy", "1.0 GiB", "its header is larger than 64.0 KiB"]


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE])
def test_a_tar_file_with_a_gigabyte_as_header(tmp_path: Path, kind: bytes) -> None:
    shown_preview = preview(tmp_path / "a.tar.gz", bombs.tar(kind, LARGE))
    assert shown_preview == previews.Preview(
        "none", note="Cannot be shown: a header of it is larger than 1 MiB."
    )


def test_a_tar_file_is_unpacked_as_far_as_a_limit(tmp_path: Path) -> None:
    shown_preview = preview(tmp_path / "a.tar.gz", bombs.tar(tarfile.REGTYPE, 8 * LARGE))
    assert shown_preview.rows == [["name", "size"], ["x", "8.0 GiB"]]
    assert shown_preview.note == "More cannot be shown: unpacked, it is larger than 256 MiB."


def test_a_zip_file_with_a_million_members(tmp_path: Path) -> None:
    member = b"PK\x01\x02" + bytes(42)
    end = b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 0xFFFF, 0xFFFF, len(member) << 20, 0, 0)
    shown_preview = preview(tmp_path / "a.zip", member * (1 << 20) + end)
    assert shown_preview.note == "Cannot be shown: a header of it is larger than 16 MiB."


def test_json_that_grows_when_it_is_indented_is_shown_as_it_is(tmp_path: Path) -> None:
    content = bombs.wide_json(900, 500_000)
    assert preview(tmp_path / "a.json", content).text == content.decode()


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.json", bombs.nested_json(200_000), "text"),
        ("a.csv", b"a," * 500_000, "table"),
        ("a.csv", b'"' + b"a" * 500_000, "table"),
        ("a.yaml", bombs.yaml_aliases(), "text"),
        ("a.parquet", bombs.parquet(), "none"),
        ("a.csv.gz", bombs.csv_line(LARGE), "none"),
        ("a.png", bombs.png(2000), "picture"),
        ("a.png", bombs.png(8000), "none"),
        ("a.png", bombs.png(8000)[:20], "none"),
    ],
)
def test_other_hostile_files_are_harmless(
    tmp_path: Path, name: str, content: bytes, kind: str
) -> None:
    assert preview(tmp_path / name, content).kind == kind


ARCHIVES = {
    archive_contents.of_zip: bombs.npz(1000),
    archive_contents.of_tar: gzip.decompress(bombs.tar(tarfile.GNUTYPE_LONGNAME, 1000))[:4096],
}


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_damage_to_an_archive_ends_in_words(data: st.DataObject) -> None:
    read = data.draw(st.sampled_from([*ARCHIVES]))
    content = bytearray(ARCHIVES[read])
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, min(len(content), 3000) - 1))
        content[place] = data.draw(st.integers(0, 255))
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        with suppress(DamagedFile, OverLimit):
            json.dumps(read(file.name))
