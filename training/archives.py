"""Npz archives that make one table: which of them a path means, what they hold, and their rows.

A path is a file, a folder or a pattern, on a disk or as a gs:// or an s3:// URI. What cannot be
used is refused by an OSError or a ValueError whose message says what and where.
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import io
import math
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np


class Description(NamedTuple):
    """What other replicas must know of an archive, from its directory and its arrays' headers."""

    name: str  # below the folder: the same wherever the folder is
    rows: int
    features: int
    content: str  # checksums, which differ if the arrays do
    preparation: str  # how the features were made, as JSON; "" if the archive does not say


class Header(NamedTuple):
    """What can be known of an array in an archive without reading its numbers."""

    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    fortran: bool  # stored column after column
    dtype: np.dtype
    length: int  # bytes before the first number


# ---- which archives a path means -----------------------------------------------------------------
def find(path: str) -> dict[str, str]:
    """Return the archives that a path means, sorted by name: name below the folder to path."""
    path = local_path(path)
    is_remote = "://" in path
    is_folder = path.endswith("/") if is_remote else Path(path).is_dir()
    if is_folder:
        folder = path if path.endswith("/") else f"{path}/"
        pattern = "*.npz"
    elif glob.has_magic(path) and (is_remote or not Path(path).exists()):
        before = re.split(r"[*?[]", path)[0]
        folder = path[: before.rfind("/") + 1]
        pattern = path.removeprefix(folder)
    else:
        return {path.rpartition("/")[2]: path}
    if is_remote:
        names = choose(list_objects(folder), pattern)
    else:
        names = glob.glob(pattern, root_dir=folder or None)
    if not names:
        raise FileNotFoundError(f"there is no {pattern} in {folder or '.'}")
    return {name: folder + name for name in sorted(names)}


def choose(names: Sequence[str], pattern: str) -> list[str]:
    """Return the names that fit a pattern, in which a star stands for no slash."""
    chosen = []
    for name in names:
        if name.count("/") == pattern.count("/") and fnmatch.fnmatchcase(name, pattern):
            chosen.append(name)
    return chosen


def local_path(path: str) -> str:
    """Return a gs:// URI as a file's path if its bucket is mounted, as in Vertex AI's jobs."""
    bucket, _, name = path.removeprefix("gs://").partition("/")
    if path.startswith("gs://") and Path("/gcs", bucket).is_dir():
        return str(Path("/gcs", bucket, name))
    return path


# ---- objects in buckets --------------------------------------------------------------------------
def split_uri(uri: str) -> tuple[str, str]:
    """Return the bucket and the object's name of a gs:// or an s3:// URI."""
    scheme, _, rest = uri.partition("://")
    bucket, _, name = rest.partition("/")
    if scheme not in ("gs", "s3"):
        raise ValueError(f"{scheme}:// is unknown; give a file, gs:// or s3://")
    if not bucket:
        raise ValueError(f"this names no bucket; write {scheme}://bucket/name")
    return bucket, name


def list_objects(folder: str) -> list[str]:
    """Return the names of all objects below a URI that ends with a slash, without that URI."""
    bucket, prefix = split_uri(folder)
    if folder.startswith("gs://"):
        from google.cloud import storage

        names = [blob.name for blob in storage.Client().list_blobs(bucket, prefix=prefix)]
    else:
        import boto3

        objects = boto3.resource("s3").Bucket(bucket).objects.filter(Prefix=prefix)
        names = [item.key for item in objects]
    return [name.removeprefix(prefix) for name in names]


def read_object(uri: str) -> bytes:
    """Return the content of an object."""
    bucket, name = split_uri(uri)
    if uri.startswith("gs://"):
        from google.cloud import storage

        return bytes(storage.Client().bucket(bucket).blob(name).download_as_bytes())
    import boto3

    return bytes(boto3.client("s3").get_object(Bucket=bucket, Key=name)["Body"].read())


# ---- what an archive holds -----------------------------------------------------------------------
@contextlib.contextmanager
def name_in_errors(name: str) -> Iterator[None]:
    """Put an archive's name before the reason why it cannot be used."""
    try:
        yield
    except ModuleNotFoundError:
        raise  # of a storage client: the archive is not to blame
    except Exception as problem:  # numpy and zipfile raise anything for a damaged archive
        reason = str(problem) or type(problem).__name__
        if isinstance(problem, OSError) and problem.strerror:
            reason = problem.strerror
        raise ValueError(f"{name}: {reason.splitlines()[0]}") from problem


@contextlib.contextmanager
def open_archive(
    path: str, fetch: Callable[[str], bytes] = read_object
) -> Iterator[zipfile.ZipFile]:
    """Open the archive in a file or in an object, which `fetch` reads."""
    with open_binary(path, fetch) as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("it is not a whole npz archive")
        with zipfile.ZipFile(file) as archive:
            yield archive


def open_binary(path: str, fetch: Callable[[str], bytes]) -> BinaryIO:
    """Open a file, or the content of an object in memory."""
    if "://" in path:
        return io.BytesIO(fetch(path))
    if Path(path).exists() and not Path(path).is_file():  # a named pipe, for example, may not end
        raise ValueError("it is not a file")
    return open(path, "rb")


def describe(archive: zipfile.ZipFile, name: str, part: str) -> Description:
    """Describe an archive with X_part and y_part, or refuse arrays that cannot be a table."""
    X, y = read_headers(archive, part)
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"X_{part} has shape {X.shape}; make it (rows, features), none 0")
    rows, features = X.shape
    if y.shape not in ((rows,), (rows, 1)):
        raise ValueError(f"y_{part} has shape {y.shape}; give each of {rows} rows one label")
    content = f"{rows} {X.dtype.str} {X.info.CRC:08x} {y.dtype.str} {y.info.CRC:08x}"
    return Description(name, rows, features, content, read_preparation(archive))


def read_headers(archive: zipfile.ZipFile, part: str) -> list[Header]:
    """Return the headers of X_part and y_part, which must be arrays of numbers."""
    headers = []
    for name in (f"X_{part}", f"y_{part}"):
        if f"{name}.npy" not in archive.namelist():
            raise ValueError(f"there is no array {name}; name the arrays in numpy.savez")
        header = read_header(archive, name)
        if header.dtype.kind not in "biuf":
            raise ValueError(f"{name} holds {header.dtype}; encode it as numbers")
        headers.append(header)
    return headers


def read_header(archive: zipfile.ZipFile, name: str) -> Header:
    """Return the header of an array, which must be as long as it says."""
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as member:
        if np.lib.format.read_magic(member) == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(member)
        else:
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(member)
        length = member.tell()
    if dtype.hasobject:  # Python objects are pickled, and a pickle could run code
        raise ValueError(f"{name} holds text or mixed columns; save plain arrays of numbers")
    if length + math.prod(shape) * dtype.itemsize != info.file_size:
        raise ValueError(f"{name} is longer or shorter than its header says")
    return Header(info, shape, fortran, dtype, length)


def read_preparation(archive: zipfile.ZipFile) -> str:
    """Return how the features were made, as JSON; "" if the archive does not say."""
    if "preparation.npy" not in archive.namelist():
        return ""
    header = read_header(archive, "preparation")
    if header.dtype.kind != "U":
        raise ValueError("preparation is not text; write it as JSON")
    return str(read_array(archive, header))


# ---- the numbers ---------------------------------------------------------------------------------
def read_array(archive: zipfile.ZipFile, header: Header) -> np.ndarray:
    """Read an array as a whole, which compares its checksum."""
    with archive.open(header.info) as member:
        array: np.ndarray = np.lib.format.read_array(member, allow_pickle=False)
    return array


def read_rows(
    archive: zipfile.ZipFile, header: Header, rows: range, *, content: np.ndarray | None
) -> np.ndarray:
    """Return rows of an array: float32, or as stored if the file's content is mapped into memory.

    content: the bytes of the file, if they are mapped.
    """
    if content is None or header.info.compress_type != zipfile.ZIP_STORED:
        return as_floats(read_array(archive, header)[rows.start : rows.stop])
    return map_array(content, header)[rows.start : rows.stop]


def map_array(content: np.ndarray, header: Header) -> np.ndarray:
    """Return an array that is not compressed as a part of the file's bytes; it is not read yet.

    Its numbers may begin at any byte, and not at a multiple of their size.
    """
    start = header.info.header_offset + 30  # there the member's name begins, then some extras
    name_length, extra_length = struct.unpack("<HH", content[start - 4 : start].tobytes())
    start += name_length + extra_length + header.length
    stop = start + math.prod(header.shape) * header.dtype.itemsize
    numbers: np.ndarray = content[start:stop].view(header.dtype)
    if header.fortran:
        return numbers.reshape(header.shape[::-1]).T
    return numbers.reshape(header.shape)


def as_floats(array: np.ndarray, copy: bool = True) -> np.ndarray:
    """Convert to float32; a number too large for it becomes infinite."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=copy)
