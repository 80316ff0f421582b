"""Small files that claim, unpack or expand to gigabytes; each is made in a moment."""

from __future__ import annotations

import gzip
import json
import struct
import tarfile
import zlib

BLOCK = 16 << 20  # a multiple of what is packed at once
PICTURE = 60_000  # pixels of a side


def _gzip(content: bytes) -> bytes:
    """The same bytes at any time."""
    return gzip.compress(content, 9, mtime=0)


def zeros(count: int) -> bytes:
    """A gzip file of so many zeros: a file may have several parts, and here all are the same."""
    return _gzip(bytes(BLOCK)) * -(-count // BLOCK)


def npz(count: int, blank: bytes = b" ") -> bytes:
    """An .npz file with one array, whose header is so many blanks."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    magic = b"\x93NUMPY\x02\x00" + struct.pack("<L", count)
    start = packer.compress(magic) + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush a part does not refer to what was before, so it can be repeated.
    block = packer.compress(blank * BLOCK) + packer.flush(zlib.Z_FULL_FLUSH)
    body = start + block * -(-count // BLOCK) + packer.flush(zlib.Z_FINISH)
    return zipped("x.npy", body, len(magic) + count)


def zipped(name: str, body: bytes, claimed: int) -> bytes:
    """A .zip file of one member; body: as it is packed; claimed: its length, unpacked."""
    common = struct.pack("<5H3L2H", 20, 0, 8, 0, 33, 0, len(body), claimed, len(name), 0)
    local = b"PK\x03\x04" + common + name.encode()
    head = b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<3H2L", 0, 0, 0, 0, 0)
    central = head + name.encode()
    offset = len(local) + len(body)
    end = b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 1, 1, len(central), offset, 0)
    return local + body + central + end


def tar(kind: bytes, count: int, name: str = "x") -> bytes:
    """A .tar.gz file whose first member has this type and so many bytes, and a second member."""
    first, second = tarfile.TarInfo(name), tarfile.TarInfo("second")
    first.type, first.size = kind, count
    head = _gzip(first.tobuf(tarfile.GNU_FORMAT))
    return head + zeros(count) + _gzip(second.tobuf(tarfile.GNU_FORMAT) + bytes(1024))


def csv_line(count: int) -> bytes:
    """A gzip file of CSV with one line of so many zeros."""
    return _gzip(b"a\n") + zeros(count)


def nested_json(depth: int) -> bytes:
    """Lists in lists."""
    return b"[" * depth + b"]" * depth


def wide_json(depth: int, count: int) -> bytes:
    """Many numbers in lists in lists: each stands on an own line, behind blanks for each list."""
    return b"[" * depth + b"1," * count + b"1" + b"]" * depth


def surrogate_json() -> bytes:
    """Half a surrogate pair."""
    return json.dumps({"half": "\ud800"}).encode()


def yaml_aliases(levels: int = 30) -> bytes:
    """Lists of the list before, nine times each: the last has nine to the power of the levels."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]")
    return "\n".join(lines).encode()


def png(side: int = PICTURE) -> bytes:
    """A picture of one colour with this side."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">L", len(body)) + kind + body + struct.pack(">L", zlib.crc32(kind + body))
        )

    row = -(-side // 8) + 1
    packed = zlib.compress(bytes(row * side), 9)
    head = struct.pack(">2L5B", side, side, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")
    )


def parquet(claimed: int = 1 << 30) -> bytes:
    """A file that says of itself that it is Parquet, with a footer of this length."""
    return b"PAR1" + bytes(1000) + struct.pack("<L", claimed & 0xFFFFFFFF) + b"PAR1"
