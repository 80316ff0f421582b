"""Objects: get, download, list, patch, update, delete, copyTo, rewriteTo, compose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from starlette.responses import JSONResponse, Response

from local_cloud.google.gcs import globs
from local_cloud.google.gcs.call import Call, condition
from local_cloud.google.gcs.errors import Refusal, invalid, not_implemented
from local_cloud.google.gcs.media import Media
from local_cloud.google.gcs.pages import last_before, page_size
from local_cloud.google.gcs.resources import (
    IN_PARTS,
    etag,
    header,
    merge,
    object_resource,
    object_settings,
)
from local_cloud.google.rest import fit, inner, inners, page_token, whole
from local_cloud.json_types import Json
from local_cloud.store.errors import PreconditionFailed
from local_cloud.store.objects import Objects
from local_cloud.store.values import Attributes, Condition, Object

_MOST_SOURCES = 32  # cloud.google.com/storage/docs/json_api/v1/objects/compose
_AT_ONCE = 50  # objects of a list that are looked up together
DEFAULT_TYPE = "application/octet-stream"


def check_name(name: object) -> str:
    """Return the name itself.

    Raise Refusal for one that cloud.google.com/storage/docs/objects#naming forbids.

    What the store refuses (length, NUL) is left to it.
    """
    if not isinstance(name, str) or not name:
        raise Refusal(400, "required", "Required")
    if name in (".", "..") or name.startswith(".well-known/acme-challenge/"):
        raise invalid(f"Invalid object name: '{name}'")
    if "\n" in name or "\r" in name:
        raise invalid("Disallowed unicode characters present in object name")
    return name


def check_generation(stored: Object, requested: int | None) -> None:
    """Require the live generation, the only one that is there; another is not found."""
    if requested not in (None, stored.generation):
        raise Refusal(404, "notFound", f"No such object: {stored.bucket}/{stored.name}#{requested}")


class Contents:
    """Handlers of the object resource, but for uploads."""

    def __init__(self, objects: Objects) -> None:
        """Serve the objects of this store."""
        self._objects = objects

    def get(self, call: Call) -> Response:
        """GET /b/{bucket}/o/{object}, with alt=media its bytes."""
        if call.query.get("alt") == "media":
            return self.download(call)
        stored = self._objects.get(call.path("bucket"), call.path("object"))
        _check_read(call, stored)
        return JSONResponse(object_resource(stored, call.base))

    def download(self, call: Call) -> Response:
        """GET /download/…/b/{bucket}/o/{object}"""
        stored, file = self._objects.open(call.path("bucket"), call.path("object"))
        try:
            _check_read(call, stored)
            return Media(call, stored, file)
        except BaseException:
            file.close()
            raise

    def list(self, call: Call) -> Response:
        """GET /b/{bucket}/o"""
        query, bucket = call.query, call.path("bucket")
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        glob = _glob(query.get("matchGlob", ""), delimiter)
        results = self._objects.names(
            bucket,
            prefix,
            start=query.get("startOffset", ""),
            end=query.get("endOffset", ""),
            after=last_before(call),
            delimiter=delimiter,
        )
        answer: Json = {"kind": "storage#objects"}
        names: list[str] = []
        prefixes: list[str] = []
        size, last = page_size(call), ""
        for name in results:
            if glob and not glob.matches(name):  # of a common beginning, itself is compared
                continue
            if len(names) + len(prefixes) >= size:
                answer["nextPageToken"] = page_token(last)
                break
            is_prefix = delimiter and delimiter in name[len(prefix) :]
            (prefixes if is_prefix else names).append(name)
            last = name
        if call.flag("includeTrailingDelimiter"):
            names = sorted(names + prefixes)  # those that are objects, too
        items, cut = self._resources(call, names)
        if cut:  # so many bytes: the page ends here
            prefixes = [each for each in prefixes if each <= cut]
            answer["nextPageToken"] = page_token(cut)
        return JSONResponse(
            answer
            | ({"items": items} if items else {})
            | ({"prefixes": prefixes} if prefixes else {})
        )

    def _resources(self, call: Call, names: Sequence[str]) -> tuple[Sequence[Json], str]:
        """Return as many of these objects as fit on a page, and the last one if others do not."""
        looked_up = 0

        def look_up() -> Iterator[Json]:
            nonlocal looked_up
            for start in range(0, len(names), _AT_ONCE):  # each may have a MB of metadata
                for each in self._objects.select(
                    call.path("bucket"), names[start : start + _AT_ONCE]
                ):
                    looked_up += 1
                    yield object_resource(each, call.base)

        items = list(fit(look_up()))
        return items, items[-1]["name"] if looked_up > len(items) else ""

    def patch(self, call: Call) -> Response:
        """PATCH /b/{bucket}/o/{object}: set what is given, remove what is null."""
        return self._change(call, lambda old: merge(old, object_settings(call.body)))

    def update(self, call: Call) -> Response:
        """PUT /b/{bucket}/o/{object}: set all."""
        given = merge({}, object_settings(call.body))
        return self._change(call, lambda old: given | _count(old))

    def delete(self, call: Call) -> Response:
        """DELETE /b/{bucket}/o/{object}"""
        bucket, name = call.path("bucket"), call.path("object")
        when = self._live(bucket, name, call.whole("generation"), when=call.condition())
        self._objects.delete(bucket, name, when)
        return Response(status_code=204)

    def copy(self, call: Call) -> Response:
        """POST /b/{bucket}/o/{object}/copyTo/b/{to_bucket}/o/{to_object}"""
        return JSONResponse(object_resource(self._copy(call), call.base))

    def rewrite(self, call: Call) -> Response:
        """POST /b/{bucket}/o/{object}/rewriteTo/b/{to_bucket}/o/{to_object}, done in one step."""
        made = self._copy(call)
        return JSONResponse(
            {
                "kind": "storage#rewriteResponse",
                "totalBytesRewritten": str(made.size),
                "objectSize": str(made.size),
                "done": True,
                "resource": object_resource(made, call.base),
            }
        )

    def compose(self, call: Call) -> Response:
        """POST /b/{bucket}/o/{object}/compose"""
        if call.body.get("deleteSourceObjects"):
            raise not_implemented("deleteSourceObjects of compose")
        sources = inners(call.body, "sourceObjects")
        if not 1 <= len(sources) <= _MOST_SOURCES:
            raise invalid(f"The number of source objects must be between 1 and {_MOST_SOURCES}.")
        destination = inner(call.body, "destination")
        content_type = header("contentType", destination.get("contentType") or DEFAULT_TYPE)
        settings = merge({}, object_settings(destination))

        def change(sources: Sequence[Object]) -> tuple[str, Attributes]:
            count = sum(each.attributes.get("componentCount", 1) for each in sources)
            return content_type, settings | {"componentCount": count}

        bucket = call.path("bucket")
        made = self._objects.compose(
            bucket,
            [self._source(bucket, each) for each in sources],
            check_name(call.path("object")),
            change=change,
            when=call.condition(),
        )
        return JSONResponse(object_resource(made, call.base))

    def _source(self, bucket: str, source: Json) -> tuple[str, Condition]:
        """Return a source of compose, and what must hold of it."""
        name = check_name(source.get("name"))
        requested = whole("generation", source.get("generation"))
        when = condition(inner(source, "objectPreconditions"))
        return name, self._live(bucket, name, requested, when=when)

    def _copy(self, call: Call) -> Object:
        source = call.path("bucket"), call.path("object")
        settings = merge({}, object_settings(call.body))
        content_type = header("contentType", call.body.get("contentType") or "")

        def change(stored: Object) -> tuple[str, Attributes]:
            # Metadata in the request take the place of all of the source's.
            kept = stored.attributes
            if settings or content_type:
                kept = settings | _count(stored.attributes)
            return content_type or stored.content_type, kept

        requested = call.whole("sourceGeneration")
        return self._objects.copy(
            source,
            (call.path("to_bucket"), check_name(call.path("to_object"))),
            change,
            source_when=self._live(*source, requested, when=call.condition("Source")),
            when=call.condition(),
        )

    def _change(self, call: Call, change: Callable[[Attributes], Attributes]) -> Response:
        bucket, name = call.path("bucket"), call.path("object")
        when = self._live(bucket, name, call.whole("generation"), when=call.condition())
        given = header("contentType", call.body.get("contentType") or "")

        def both(old: Object) -> tuple[str, Attributes]:
            return given or old.content_type, change(old.attributes)

        changed = self._objects.update(bucket, name, both, when=when)
        return JSONResponse(object_resource(changed, call.base))

    def _live(self, bucket: str, name: str, requested: int | None, *, when: Condition) -> Condition:
        """Return the condition and, if a generation is asked for, that it be the live one."""
        if requested is None:
            return when
        check_generation(self._objects.get(bucket, name), requested)
        return replace(when, generation=requested) if when.generation is None else when


def _glob(pattern: str, delimiter: str) -> globs.Glob | None:
    if pattern and delimiter not in ("", "/"):
        raise invalid("When matchGlob is given, delimiter must be '/' or empty.")
    return globs.read(pattern) if pattern else None


def _check_read(call: Call, stored: Object) -> None:
    check_generation(stored, call.whole("generation"))
    call.condition().check(stored.generation, stored.metageneration)
    wanted, known = call.headers.get("if-match"), call.headers.get("if-none-match")
    if wanted is not None and etag(stored) not in _etags(wanted):
        raise PreconditionFailed("the ETag is another")
    if known is not None and etag(stored) in _etags(known):
        raise PreconditionFailed("the ETag is the same", excluded=True)


def _etags(header: str) -> list[str]:
    return [each.strip().strip('"') for each in header.split(",")]


def _count(attributes: Attributes) -> Attributes:
    """Return the mark of an object that was put together, which no request changes."""
    return {name: attributes[name] for name in {"componentCount", IN_PARTS} & attributes.keys()}
