"""Which file carries which object: any name as a path below a folder, and back.

Most names are their own path. What no file can carry is written with a code, a newline and a
letter (file names with newlines are rare, and Cloud Storage has none in object names):

    \\nn  a newline                      \\ne  an empty component ("a//b", "a/", "/a")
    \\nd  the component "."              \\nu  the component ".."
    \\nf  at the end of a file: this is "a" beside the folder of "a/b"
    \\nc  at the end of a folder: the component goes on inside (it is too long for one file name)

A file is an object's file only if the object's name leads back to it; other files are no objects.
"""

from __future__ import annotations

import re

from local_cloud.store.errors import BadName

# Bytes. Linux and macOS take 255 for one component; two are kept for the code at the end.
COMPONENT = 253
NAME = 1024

_WHOLE = {"": "\ne", ".": "\nd", "..": "\nu"}
_PLAIN = {code: component for component, code in _WHOLE.items()}
_BESIDE = "\nf"
_CONTINUED = "\nc"


def check(name: str) -> str:
    """Return the name itself; raises BadName for one that no object can have."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise BadName(f"{name!r} is no object's name: it is not valid UTF-8") from None
    if not 0 < size <= NAME:
        raise BadName(f"an object's name has 1 to {NAME} bytes; {name[:40]!r} has {size}")
    if "\0" in name:
        raise BadName(f"{name!r} is no object's name: it holds a NUL character")
    return name


def to_path(name: str) -> str:
    """Return the path, relative to the bucket's folder, of the file that carries the object."""
    return "/".join(_escape(component) for component in name.split("/"))


def beside_folder(path: str) -> str:
    """Return the path of the same object's file where a folder has taken the first one."""
    return path + _BESIDE


def leads_back(name: str, path: str) -> bool:
    """Return whether the object of this name is looked for at this path."""
    try:
        return to_path(check(name)) == path.removesuffix(_BESIDE)
    except BadName:
        return False


def from_file(entry: str) -> str:
    """Return what a file adds to an object's name."""
    return _unescape(entry.removesuffix(_BESIDE))


def from_folder(entry: str) -> str:
    """Return what a folder adds to the names of the objects in it."""
    if is_continued(entry):
        return _unescape(entry.removesuffix(_CONTINUED))
    return _unescape(entry) + "/"


def is_continued(entry: str) -> bool:
    """Return whether the folder's own component goes on in its entries."""
    # Such a folder's name is full: less than one more character, 4 bytes at most, is left.
    return entry.endswith(_CONTINUED) and len(entry.encode()) > COMPONENT - 4 + len(_CONTINUED)


def _unescape(entry: str) -> str:
    return _PLAIN.get(entry, entry).replace("\nn", "\n")


def _escape(component: str) -> str:
    if "\n" not in component and len(component.encode()) <= COMPONENT:
        return _WHOLE.get(component, component)
    folders, piece, size = "", "", 0
    for unit in re.findall(r"\nn|[^\n]", component.replace("\n", "\nn")):
        if size + len(unit.encode()) > COMPONENT:
            folders += piece + _CONTINUED + "/"
            piece, size = "", 0
        piece += unit
        size += len(unit.encode())
    return folders + _WHOLE.get(piece, piece)
