"""Archives of strangers: what is unpacked, what is refused, and that nothing lands elsewhere.

Runs with the standard library, pytest and hypothesis, so that it can be tried with any Python.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_cloud.engine.environments import archives
from local_cloud.engine.environments.archives import ArchiveError, extract, fingerprint
from tests.engine.archives import file, link, tar

Members = list[tuple[tarfile.TarInfo, bytes]]


def tree(folder: Path) -> dict[str, str]:
    """What lies below a folder: the files' texts, and where links point."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_text()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def test_files_folders_links_and_modes(tmp_path: Path) -> None:
    program = file("x/run", b"#!/bin/sh")
    program[0].mode = 0o4777
    hard = link("x/same", "x/run", tarfile.LNKTYPE)
    archive = tar(
        tmp_path / "a.tar.gz",
        file("x/a"),
        program,
        link("x/l", "run"),
        link("x/l", "../x/a"),
        hard,
        link("y/z/l", "../../x/a"),
        file("x/a", b"2"),
    )
    extract(archive, tmp_path / "not yet there" / "into")
    assert tree(tmp_path / "not yet there" / "into") == {
        "x/a": "2",
        "x/run": "#!/bin/sh",
        "x/l": "../x/a",
        "x/same": "#!/bin/sh",
        "y/z/l": "../../x/a",
    }
    assert (tmp_path / "not yet there/into/x/run").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "not yet there/into/x/a").stat().st_mode & 0o7777 == 0o644


LEAVING = {
    "parent": [file("../evil")],
    "deep parent": [file("x/../../evil")],
    "absolute": [file("/tmp/evil-of-a-test")],
    "backslash": [file("..\\evil")],
    "link": [link("out", "../.."), file("out/evil")],
    "link alone": [link("out", "..")],
    "absolute link": [link("out", "/etc/passwd")],
    "hard link": [link("out", "../../evil", tarfile.LNKTYPE)],
    # Each link is harmless by itself: x/l leads to x, and m by way of it out of the folder.
    "link by link": [file("x/y/f"), link("x/y/l", ".."), link("m", "x/y/l/../..")],
    "a link that changes": [link("a", "b/.."), file("c/d"), link("b", "c"), link("e", "a/..")],
    "a link in the way of a file": [file("x/f"), link("x", "."), file("x/g")],
    "a link behind a link": [link("a", ".."), link("a/evil", "x")],
    "device": [link("null", "", tarfile.CHRTYPE)],
    "pipe": [link("pipe", "", tarfile.FIFOTYPE)],
}


@pytest.mark.parametrize("members", LEAVING.values(), ids=LEAVING)
def test_what_would_land_outside_or_is_no_file_is_refused(tmp_path: Path, members: Members) -> None:
    archive = tar(tmp_path / "bad.tar.gz", *members)
    with pytest.raises(ArchiveError, match=r"^bad\.tar\.gz cannot be unpacked \(.*\): make the"):
        extract(archive, tmp_path / "into")
    assert [path.name for path in tmp_path.rglob("*")] == ["bad.tar.gz"]
    assert not Path("/tmp/evil-of-a-test").exists()


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil-of-a-test", "x/../../evil", "..\\evil"])
def test_so_is_a_wheels_member(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "bad.whl", "w") as wheel:
        wheel.writestr(name, "x")
    with pytest.raises(ArchiveError, match="outside its folder"):
        extract(tmp_path / "bad.whl", tmp_path / "into")
    assert not (tmp_path / "into").exists()


def bomb(path: Path, size: int) -> Path:
    """An archive of one member of zeros: a thousandth of its size."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("zeros", bytes(size))
        return path
    return tar(path, file("zeros", bytes(size)))


@pytest.mark.parametrize("name", ["bomb.tar.gz", "bomb.zip"])
def test_a_bomb_stops_early_and_leaves_nothing(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    monkeypatch.setattr(archives, "CHUNK", 1000)
    monkeypatch.setattr(
        archives, "_less", lambda left, size, most, less=archives._less: (
            written.append(size), less(left, size, most))[1],
    )  # fmt: skip
    archive = bomb(tmp_path / name, 10_000_000)
    for use in (
        lambda: extract(archive, tmp_path / "into", 5000),
        lambda: fingerprint(archive, 5000),
    ):
        written.clear()
        with pytest.raises(ArchiveError, match="unpacked it has more than 5e-06 GB"):
            use()
        assert sum(written) == 6000
    assert not (tmp_path / "into").exists()


def test_what_was_there_stays_when_an_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "into").mkdir()
    (tmp_path / "into/mine").write_text("mine")
    with pytest.raises(ArchiveError):
        extract(tar(tmp_path / "bad.tar.gz", file("../evil")), tmp_path / "into")
    assert tree(tmp_path / "into") == {"mine": "mine"}


def test_copies_by_hard_links_count_too(tmp_path: Path) -> None:
    many = [link(f"copy{number}", "a", tarfile.LNKTYPE) for number in range(9)]
    archive = tar(tmp_path / "a.tar.gz", file("a", b"x" * 1000), *many)
    with pytest.raises(ArchiveError, match="more than"):
        extract(archive, tmp_path / "into", 5000)


def test_members_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 10)
    archive = tar(tmp_path / "a.tar.gz", *(file(f"f{number}") for number in range(11)))
    with pytest.raises(ArchiveError, match="more than 10 members"):
        extract(archive, tmp_path / "into")


def test_a_header_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    """tarfile reads the text of a PAX header as a whole: zeros pack well."""
    member = tarfile.TarInfo("header")
    member.type, member.size = tarfile.XHDTYPE, 1 << 32
    with gzip.open(tmp_path / "a.tar.gz", "w") as archive:
        archive.write(member.tobuf())
        archive.write(bytes(1 << 20))
    with pytest.raises(ArchiveError, match="header of"):
        extract(tmp_path / "a.tar.gz", tmp_path / "into")


def test_headers_are_counted_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each header is small enough, and holds nothing that would be written."""
    monkeypatch.setattr(archives, "MOST_OF_HEADERS", 50_000)
    header = tarfile.TarInfo("header")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 4096
    named = header.tobuf() + b"x".ljust(4096, b"\0") + tarfile.TarInfo("x").tobuf()
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(named * 20 + bytes(1024)))
    for use in (
        lambda: extract(tmp_path / "a.tar.gz", tmp_path / "into", 5000),
        lambda: fingerprint(tmp_path / "a.tar.gz", 5000),
    ):
        with pytest.raises(ArchiveError, match="unpacked, it is larger than"):
            use()


def pax(*records: bytes) -> bytes:
    """A PAX header with these records, as they are, and a file behind it."""
    body = b"".join(records)
    header = tarfile.TarInfo("header")
    header.type, header.size = tarfile.XHDTYPE, len(body)
    padding = bytes(-len(body) % 512)
    return header.tobuf() + body + padding + tarfile.TarInfo("x").tobuf() + bytes(1024)


@pytest.mark.parametrize(
    "records",
    [
        b"99999999 path=x\n",
        b"0 path=x\n",
        b"14 size=-5000\n",
        b"15 size=nothing\n",
        b"24 GNU.sparse.major=many\n",
        b"14 path=\xff\xfe\0x\n",
        b"nonsense",
    ],
)
def test_a_broken_header_is_one_sentence(tmp_path: Path, records: bytes) -> None:
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(pax(records)))
    try:
        extract(tmp_path / "a.tar.gz", tmp_path / "into")
    except ArchiveError as refused:
        assert "\n" not in str(refused)
    else:
        assert tree(tmp_path / "into").keys() <= {"x", "path"}


@settings(max_examples=150)
@given(st.data())
def test_a_damaged_archive_is_refused_or_still_whole(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    kind = data.draw(st.sampled_from(["x.tar.gz", "x.whl", "inside.tar.gz"]))
    if kind == "x.whl":
        with zipfile.ZipFile(folder / kind, "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.writestr("x/a.py", "print('hello')" * 9)
    else:
        tar(folder / kind, file("x/a.py", b"print('hello')" * 9), file("x" * 200), link("l", "x"))
    whole = (folder / kind).read_bytes()
    if kind == "inside.tar.gz":  # the damage is in what was packed, behind the checksum
        whole = gzip.decompress(whole)
    cut = data.draw(st.integers(0, len(whole)))
    change = data.draw(st.binary(max_size=40))
    broken = whole[:cut] + change + whole[cut + len(change) :]
    (folder / kind).write_bytes(gzip.compress(broken, 1) if kind == "inside.tar.gz" else broken)
    try:
        extract(folder / kind, folder / "into")
    except ArchiveError as refused:
        assert "\n" not in str(refused)
        assert not (folder / "into").exists()
    assert {path.name for path in folder.iterdir()} <= {kind, "into"}


NAMES = st.lists(st.sampled_from(["a", "b", "..", ".", "", "c"]), min_size=1, max_size=4)
MEMBERS = st.lists(
    st.tuples(
        NAMES.map("/".join),
        NAMES.map("/".join),
        st.sampled_from([tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE]),
    ),
    max_size=6,
)


@settings(max_examples=150)
@given(MEMBERS)
def test_no_members_together_reach_outside(
    tmp_path_factory: pytest.TempPathFactory, members: list[tuple[str, str, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("hostile").resolve()
    archive = tar(folder / "a.tar.gz", *(link(name, to, kind) for name, to, kind in members))
    try:
        extract(archive, folder / "into")
    except ArchiveError:
        assert [path.name for path in folder.iterdir()] == ["a.tar.gz"]
    else:
        for path in (folder / "into").rglob("*"):
            assert path.resolve().is_relative_to(folder / "into")
