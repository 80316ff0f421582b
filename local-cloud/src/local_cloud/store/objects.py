"""Buckets and objects: a tree of files that is the truth, and records of what files cannot say.

Object `a/b.npz` of bucket `k` is the file `<folder>/k/a/b.npz` (names.py has the exceptions). The
folder can be mounted in a job, live both ways: a file that a job writes is an object from then
on. What the record says of an object counts as long as the file is the one it was made for (same
inode, size and modification time); otherwise it is derived from the file. Links, and what else is
neither a regular file nor a folder, are no objects, so nobody reads beyond the bucket's folder.
Nor is a file that has more bytes (most of them holes, say) than all objects may have together.
"""

from __future__ import annotations

import mimetypes
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from local_cloud.store import files, history, interruption, names, readable, trees
from local_cloud.store.errors import (
    BadName,
    BucketExists,
    BucketNotEmpty,
    DigestMismatch,
    NoSpace,
    NoSuchBucket,
    NoSuchObject,
    Unsteady,
)
from local_cloud.store.files import Digests
from local_cloud.store.history import Held
from local_cloud.store.records import Document, Records
from local_cloud.store.space import GB, VARIABLE, Space, limit
from local_cloud.store.values import ALWAYS, Attributes, Bucket, Condition, Object
from local_cloud.store.walk import Walk

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,221}")
# Of the record of an object, without its digests.
_FIELDS = (
    "file",
    "generation",
    "metageneration",
    "created",
    "updated",
    "content_type",
    "attributes",
)
_BATCH = 100  # objects that a listing looks up at once

# A file system may tell times in steps this large (ns): a file that changed more recently may
# change once more and look the same, so its digests are not kept.
_TICK = 100_000_000

_TRIES = 10  # to get hold of an object that is being replaced


class Objects:
    """The objects in a folder; usable from several threads of one process.

    An object is written whole or not at all, and what a method has written when it returns is on
    the disk. Conditions are checked and writes done under one lock per bucket.
    """

    def __init__(self, folder: Path, records: Records, space: Space | None = None) -> None:
        """folder: holds one folder per bucket. Next to it is one for uploads under way.

        space: how much may be written; None: what this machine allows by default.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.space = space or Space(folder, limit({}))
        self.folder = folder.resolve()
        self.records = records
        self._locks: dict[str, threading.Lock] = {}
        self._uploads = self.folder.with_name(self.folder.name + "-uploads")
        self._kept = self._uploads / "kept"
        self._kept.mkdir(parents=True, exist_ok=True)
        for left_over in self._uploads.iterdir():  # by a process that was killed
            if left_over.is_file():
                left_over.unlink()

    # Buckets

    def create_bucket(self, name: str, attributes: Attributes) -> Bucket:
        """Create an empty bucket. Raises BucketExists, BadName."""
        if not _BUCKET.fullmatch(name):
            raise BadName(f"{name!r} is no bucket's name")
        with self._lock(name):
            if self.records.get("bucket", name):
                raise BucketExists(f"there is a bucket {name} already")
            with suppress(FileExistsError):
                (self.folder / name).mkdir()
            if (self.folder / name).is_symlink() or not (self.folder / name).is_dir():
                raise BadName(f"{self.folder / name} is in the way of a bucket {name}")
            files.sync(self.folder)
            now = time.time()
            bucket = Bucket(name, now, now, 1, attributes)
            self.records.put("bucket", name, asdict(bucket))
        return bucket

    def bucket(self, name: str) -> Bucket:
        """Return the bucket. Raises NoSuchBucket."""
        document = self.records.get("bucket", name)
        if document is None:
            raise NoSuchBucket(f"there is no bucket {name}")
        return Bucket(**document)

    def buckets(self, prefix: str = "") -> Iterator[Bucket]:
        """Yield all buckets, by name."""
        documents = self.records.list("bucket", prefix)
        yield from readable.each("bucket", documents, lambda _, document: _bucket_of(document))

    def list_held(self) -> Iterator[tuple[str, Held]]:
        """Return what buckets have held and hold no more, by bucket, deleted buckets too.

        It is kept in one step with the record of what replaces or removes an object. What a job
        deletes or overwrites in the folder itself is not in it, nor an object that was being
        replaced or removed in the very moment in which the process was killed.
        """
        return history.list_held(self.records)

    def update_bucket(
        self, name: str, change: Callable[[Bucket], Attributes], when: Condition = ALWAYS
    ) -> Bucket:
        """Set a bucket's attributes to what `change` makes of it."""
        with self._lock(name):
            old = self.bucket(name)
            when.check(1, old.metageneration)
            new = Bucket(name, old.created, time.time(), old.metageneration + 1, change(old))
            self.records.put("bucket", name, asdict(new))
        return new

    def delete_bucket(self, name: str, when: Condition = ALWAYS) -> None:
        """Remove an empty bucket. Raises NoSuchBucket, BucketNotEmpty, PreconditionFailed."""
        with self._lock(name):
            when.check(1, self.bucket(name).metageneration)
            first = next(Walk(self.folder / name), None)
            if first is not None:
                raise BucketNotEmpty(f"bucket {name} still holds objects, {first!r} among them")
            with self.records.transaction():
                self.records.delete("bucket", name)
                self.records.clear(f"object/{name}")
            # Folders that jobs left empty; what is neither a folder nor an object stays.
            trees.remove_empty(self.folder / name)

    # Writing objects

    def upload_file(self, keep: str = "") -> Path:
        """Make an empty file to write a body into; put() moves it, otherwise the caller removes it.

        Write with space.open(), which counts. Raises NoSpace.
        keep: an id under which find_kept() finds the file, also after a restart.
        """
        self.space.take()
        if keep:
            path = self._kept / keep
            path.touch(exist_ok=False)
            return path
        descriptor, made = tempfile.mkstemp(dir=self._uploads)
        os.close(descriptor)
        return Path(made)

    def find_kept(self, keep: str) -> Path | None:
        """Return the file that upload_file() made under this id, unless it was moved or removed."""
        path = self._kept / keep
        return path if path.is_file() else None

    def list_kept(self) -> list[str]:
        """Return the ids of all such files."""
        return os.listdir(self._kept)

    def put(
        self,
        bucket: str,
        name: str,
        body: Path,
        *,
        content_type: str = "",
        attributes: Attributes | None = None,
        when: Condition = ALWAYS,
        md5: bytes | None = None,
        crc32c: bytes | None = None,
    ) -> Object:
        """Make body, a file of upload_file(), the object's content; it is moved.

        content_type: "" is guessed from the name. md5, crc32c: what the sender announced.
        Raises NoSuchBucket, BadName, PreconditionFailed, DigestMismatch; body is then left.
        """
        names.check(name)
        digests, identity, _ = files.digest(body)
        for what, announced, got in (
            ("MD5", md5, digests.md5),
            ("CRC32C", crc32c, digests.crc32c),
        ):
            if announced not in (None, got):
                raise DigestMismatch(f"the {what} of the bytes received is not the one announced")
        files.sync(body)
        with self._lock(bucket):
            self.bucket(bucket)
            seen = self._look(bucket, name)
            _check(seen, when)
            old = seen.document if seen else self.records.get(f"object/{bucket}", name)
            document = _document(
                identity,
                time.time_ns(),
                floor=self._floor(bucket, old),
                content_type=content_type or _guess(name),
                attributes=attributes or {},
            )
            path = files.place(self.folder / bucket, name, body)
            document |= digests.as_document()
            with self.records.transaction():
                if seen:
                    self._record_end(bucket, seen, document["created"])
                self.records.put(f"object/{bucket}", name, document)
        return _Seen(name, path, document, identity[1], digests).as_object(bucket)

    def copy(
        self,
        source: tuple[str, str],
        target: tuple[str, str],
        change: Callable[[Object], tuple[str, Attributes]],
        *,
        source_when: Condition = ALWAYS,
        when: Condition = ALWAYS,
    ) -> Object:
        """Copy one object, (bucket, name), to another.

        change: the copy's content type and attributes, made from the source.
        """
        return self._combine(
            [(*source, source_when)], target, change=lambda sources: change(sources[0]), when=when
        )

    def compose(
        self,
        bucket: str,
        sources: Sequence[tuple[str, Condition]],
        name: str,
        *,
        change: Callable[[Sequence[Object]], tuple[str, Attributes]],
        when: Condition = ALWAYS,
    ) -> Object:
        """Make an object of the contents of others, one after the other.

        change: the new object's content type and attributes, made from the sources.
        """
        return self._combine(
            [(bucket, source, condition) for source, condition in sources],
            (bucket, name),
            change=change,
            when=when,
        )

    def update(
        self,
        bucket: str,
        name: str,
        change: Callable[[Object], tuple[str, Attributes]],
        *,
        when: Condition = ALWAYS,
    ) -> Object:
        """Set content type and attributes to what `change` makes of the object."""
        for _ in range(_TRIES):
            old = self.get(bucket, name)
            with self._lock(bucket):
                seen = self._look(bucket, name)
                _check(seen, when)
                if seen is None or not seen.is_same(old):
                    continue  # written, changed or removed since get()
                content_type, attributes = change(old)
                seen.document |= {
                    "content_type": content_type,
                    "attributes": attributes,
                    "metageneration": old.metageneration + 1,
                    "updated": time.time(),
                }
                self.records.put(f"object/{bucket}", name, seen.document)
                seen.digests, seen.size = Digests(old.md5, old.crc32c), old.size
            return seen.as_object(bucket)
        raise _unsteady(bucket, name)

    def delete(self, bucket: str, name: str, when: Condition = ALWAYS) -> None:
        """Remove an object. Raises NoSuchBucket, NoSuchObject, PreconditionFailed."""
        names.check(name)
        with self._lock(bucket):
            self.bucket(bucket)
            seen = self._look(bucket, name)
            if seen is None:
                raise NoSuchObject(bucket, name)
            _check(seen, when)
            files.remove(self.folder / bucket, name)
            last = max(seen.document["generation"], self._floor(bucket, None))
            with self.records.transaction():
                self._record_end(bucket, seen, time.time())
                self.records.put("removed", bucket, {"generation": last})
                self.records.delete(f"object/{bucket}", name)

    # Reading objects

    def get(self, bucket: str, name: str) -> Object:
        """Return the object. Raises NoSuchBucket, NoSuchObject, BadName."""
        self.bucket(bucket)
        for stored in self.select(bucket, [names.check(name)]):
            return stored
        if (file := files.find(self.folder / bucket, name)) and self._is_huge(file[1].st_size):
            raise NoSpace(
                f"the file {name!r} in bucket {bucket} has {file[1].st_size / GB:.3g} GB, more than"
                f" {VARIABLE} allows ({self.space.most / GB:g} GB): delete it, or write less"
            )
        raise NoSuchObject(bucket, name)

    def _is_huge(self, size: int) -> bool:
        """Return whether a file is no object because it is larger than all together may be."""
        return size > self.space.most

    def open(self, bucket: str, name: str) -> tuple[Object, BinaryIO]:
        """Open an object; return it and its file; later writes of the name do not touch it.

        Of a file that a job is writing, read no more than the object's size.
        """
        for _ in range(_TRIES):
            stored = self.get(bucket, name)
            try:
                file = files.open_file(stored.path)
            except files.GONE:  # written or removed since get()
                continue
            inode, size, _ = files.identity(os.fstat(file.fileno()))
            if inode == stored.inode and size >= stored.size:
                return stored, file
            file.close()
        raise _unsteady(bucket, name)

    def list(self, bucket: str, prefix: str = "", start: str = "") -> Iterator[Object]:
        """Yield the objects whose names have the prefix and are not below start, by UTF-8 bytes."""
        listed = self.names(bucket, prefix, start=start)
        while batch := list(islice(listed, _BATCH)):
            yield from self.select(bucket, batch)

    def sizes(self, bucket: str) -> Iterator[tuple[int, float]]:
        """Yield of each object its bytes and since when it is there, without its digests.

        Names and records come in the same order, so each is read once. Raises NoSuchBucket.
        """
        self.bucket(bucket)
        walk, root = Walk(self.folder / bucket), str(self.folder / bucket)
        known = self.records.list(f"object/{bucket}")
        record: tuple[str, Document] | None = ("", {})
        for name in walk:
            interruption.check()
            while record and record[0] < name:
                record = next(known, None)
            try:
                facts = os.lstat(f"{root}/{walk.path}")
            except files.GONE:  # deleted since
                continue
            document = record[1] if record and record[0] == name else {}
            if document.get("file") == files.identity(facts):
                yield facts.st_size, document["created"]
            elif not self._is_huge(facts.st_size):
                yield facts.st_size, facts.st_mtime_ns / 1e9

    def names(
        self,
        bucket: str,
        prefix: str = "",
        *,
        start: str = "",
        end: str = "",
        after: str = "",
        delimiter: str = "",
    ) -> Iterator[str]:
        """Return the names alone, without a look at what is in the files.

        delimiter: names that hold it behind the prefix are cut off there, and such a common
        beginning is given once, so what holds the delimiter behind the prefix is no object's name.
        end: only names below it, unless "". after: only what follows this earlier result.
        Raises NoSuchBucket.
        """
        self.bucket(bucket)
        walk = Walk(self.folder / bucket, prefix, start=max(start, after), end=end)
        return _group(walk, len(prefix), after=after, delimiter=delimiter)

    def select(self, bucket: str, wanted: Iterable[str]) -> Iterator[Object]:
        """Return the objects that there are among these names, in their order."""
        with self._lock(bucket):
            seen = [seen_object for name in wanted if (seen_object := self._look(bucket, name))]
        # Without the lock, for large files take long to read.
        seen = [one for one in seen if one.digests or not self._is_huge(one.size)]
        seen = [one for one in seen if one.digests or _derive(one)]
        if any(one.unrecorded for one in seen):
            # What was derived is kept for the next time.
            with self._lock(bucket), self.records.transaction():
                for seen_object in seen:
                    self._record(bucket, seen_object)
        return (one.as_object(bucket) for one in seen)

    # Shared by several of the above

    def _lock(self, bucket: str) -> threading.Lock:
        return self._locks.setdefault(bucket, threading.Lock())

    def _record_end(self, bucket: str, seen: _Seen, at: float) -> None:
        """Keep for how long the bucket has held an object, in the caller's transaction."""
        history.add(self.records, bucket, size=seen.size, since=seen.document["created"], until=at)

    def _floor(self, bucket: str, document: Document | None) -> int:
        """Return what the next generation of a name must exceed.

        document: what its record said last.
        """
        last = document or self.records.get("removed", bucket)
        return last["generation"] if last else 0

    def _look(self, bucket: str, name: str) -> _Seen | None:
        """Return the object as its file and its record say; the bucket's lock is held."""
        file = files.find(self.folder / bucket, name)
        if file is None:
            return None
        path, facts = file
        identity = files.identity(facts)
        document = self._document(bucket, name)
        if document and document["file"] == identity:
            digests = Digests.of(document) if "md5" in document else None
            return _Seen(name, path, document, identity[1], digests)
        floor = self._floor(bucket, document)
        document = _document(
            identity, facts.st_mtime_ns, floor=floor, content_type=_guess(name), attributes={}
        )
        return _Seen(name, path, document, identity[1], None, unrecorded=True)

    def _document(self, bucket: str, name: str) -> Document | None:
        """Return the record of an object; None if there is none that can be understood."""
        document = self.records.get(f"object/{bucket}", name)
        if document and not all(document.get(field) is not None for field in _FIELDS):
            readable.note(f"object/{bucket}", name, "a field is missing")
            return None
        return document

    def _record(self, bucket: str, seen: _Seen) -> None:
        """Keep what was derived, if it is still true."""
        now = self._look(bucket, seen.name) if seen.unrecorded else None
        if now and now.document["file"] == seen.document["file"]:
            digests = {key: seen.document[key] for key in ("md5", "crc32c") if key in seen.document}
            seen.document = now.document | digests
            self.records.put(f"object/{bucket}", seen.name, seen.document)

    def _combine(
        self,
        sources: Iterable[tuple[str, str, Condition]],
        target: tuple[str, str],
        *,
        change: Callable[[Sequence[Object]], tuple[str, Attributes]],
        when: Condition,
    ) -> Object:
        """Put the contents of the sources, (bucket, name, condition), one after the other."""
        body = self.upload_file()
        try:
            parts = []
            with self.space.open(body) as whole:
                for bucket, name, condition in sources:
                    source, file = self.open(bucket, name)
                    with file:
                        condition.check(source.generation, source.metageneration)
                        files.append(whole, file, source.size)
                    parts.append(source)
            content_type, attributes = change(parts)
            bucket, name = target
            return self.put(
                bucket, name, body, content_type=content_type, attributes=attributes, when=when
            )
        finally:
            body.unlink(missing_ok=True)


@dataclass
class _Seen:
    """An object's file, and its record or what was derived in the record's place."""

    name: str
    path: Path
    document: Document
    size: int
    digests: Digests | None
    unrecorded: bool = False

    def is_same(self, other: Object) -> bool:
        document = self.document
        same = (other.generation, other.metageneration)
        return same == (document["generation"], document["metageneration"])

    def as_object(self, bucket: str) -> Object:
        document = self.document
        assert self.digests
        return Object(
            bucket=bucket,
            name=self.name,
            path=self.path,
            inode=document["file"][0],
            size=self.size,
            generation=document["generation"],
            metageneration=document["metageneration"],
            created=document["created"],
            updated=document["updated"],
            md5=self.digests.md5,
            crc32c=self.digests.crc32c,
            content_type=document["content_type"],
            attributes=document["attributes"],
        )


def _check(seen: _Seen | None, when: Condition) -> None:
    document = seen.document if seen else {}
    when.check(document.get("generation", 0), document.get("metageneration", 0))


def _unsteady(bucket: str, name: str) -> Unsteady:
    return Unsteady(f"{name!r} in bucket {bucket} changes faster than it can be read; try again")


def _derive(seen: _Seen) -> bool:
    """Read the file for its digests; False: it cannot be read, or no more."""
    try:
        seen.digests, identity, is_steady = files.digest(seen.path)
    except files.GONE:
        return False
    seen.size = identity[1]
    if is_steady and identity == seen.document["file"]:
        if time.time_ns() - identity[2] > _TICK:
            seen.document |= seen.digests.as_document()
            seen.unrecorded = True
    else:
        seen.unrecorded = False  # it has been written since the look
    return True


def _bucket_of(document: Document) -> Bucket:
    """Return a bucket as its record says it; TypeError for a record that does not."""
    if None in document.values():
        raise TypeError("a field is empty")
    return Bucket(**document)


def _document(
    identity: list[int], written: int, *, floor: int, content_type: str, attributes: Attributes
) -> Document:
    """Return the record of an object that was written at this time (ns), but for its digests."""
    return {
        "file": identity,
        "generation": max(written // 1000, floor + 1),
        "metageneration": 1,
        "created": written / 1e9,
        "updated": written / 1e9,
        "content_type": content_type,
        "attributes": attributes,
    }


def _guess(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def _group(walk: Walk, start: int, *, after: str, delimiter: str) -> Iterator[str]:
    """Yield the names of the walk, cut off behind the first delimiter at or behind `start`."""
    for name in walk:
        end = name.find(delimiter, start) if delimiter else -1
        if end >= 0:
            name = name[: end + len(delimiter)]
            walk.skip(name)
        if name > after:
            yield name
