"""Resources of one kind: create, get, list, patch and delete, as the service does for all."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources import documents
from local_cloud.google.vertex.resources.errors import not_found
from local_cloud.google.vertex.resources.schema import (
    OUTPUT_ONLY,
    new_id,
    parse_message,
    require,
    require_fields,
    timestamp,
)
from local_cloud.json_types import Json
from local_cloud.store.records import Records

# "1-128 characters, and valid characters are [a-z][0-9]-": types/tensorboard_service.py and others
ID = re.compile(r"[a-z0-9-]{1,128}")
FIXED = ("name", "etag", "createTime", "updateTime")  # what no request changes


class Collection:
    """The resources `PARENT/NOUN/ID`, each a document in records of the kind `vertex-NOUN`."""

    def __init__(
        self,
        records: Records,
        noun: str,
        proto: Any,
        *,
        ids: re.Pattern[str] = ID,
        kept: tuple[str, ...] = (),
        fixed: tuple[str, ...] = (),
    ) -> None:
        """Keep them in `records`.

        kept: fields that are output only elsewhere and here the caller's. fixed: what a patch
        must not change, besides what it never may.
        """
        self.records = records
        self.noun = noun
        self.kind = f"vertex-{noun}"
        self.proto = proto
        self._fields = {field.json_name for field in proto.pb().DESCRIPTOR.fields}
        # As protos and parameters name it: tensorboardRun, tensorboardRuns, tensorboardTimeSeries.
        self.singular = proto.__name__[:1].lower() + proto.__name__[1:]
        self.plural = _plural(self.singular)
        self.ids = ids
        self.output_only = tuple(field for field in OUTPUT_ONLY if field not in kept)
        self.fixed = (*FIXED, *fixed)

    def create(self, parent: str, body: Json, chosen: str = "", **more: Any) -> Json:
        """Check and record a resource; `more` are fields that the service fills in."""
        document = parse_message(
            self.proto, body, self.proto.__name__, output_only=self.output_only
        )
        require_fields(self.proto, document, self.singular)
        require(
            not chosen or self.ids.fullmatch(chosen),
            f"{self.proto.__name__}: the id {chosen!r} does not match {self.ids.pattern}",
        )
        name = f"{parent}/{self.noun}/{chosen or new_id()}"
        now = timestamp(time.time())
        filled_in = self._with_fields(createTime=now, updateTime=now, etag=_etag())
        document |= {"name": name, **filled_in, **more}
        with self.records.transaction():
            if self.records.get(self.kind, name):
                raise ApiError("ALREADY_EXISTS", f"The {self.proto.__name__} {name} exists.")
            self.records.put(self.kind, name, document)
        return document

    def get(self, name: str) -> Json:
        """Return the resource of this name, or NOT_FOUND."""
        document = self.records.get(self.kind, name)
        if document is None:
            raise not_found(name)
        return document

    def page(
        self,
        parent: str,
        query: dict[str, str],
        *,
        functions: documents.Functions | None = None,
        render: Callable[[Json], Json] = dict,
    ) -> tuple[list[Json], str]:
        """Return one page of a parent's resources, filtered and ordered, and the next token."""
        place = f"{parent}/{self.noun}"
        return documents.page(
            self.records,
            place,
            query=query,
            render=render,
            kind=self.kind,
            functions=functions or {},
        )

    def patch(self, name: str, body: Json, mask: str) -> Json:
        """Change the fields that the mask names or, without a mask, those that the body has."""
        sent = parse_message(
            self.proto, body, self.proto.__name__, output_only=self.output_only, is_patch=True
        )
        with self.records.transaction():
            old = self.get(name)
            self._same_etag(body.get("etag", ""), old)
            new = old | {field: value for field, value in sent.items() if field not in self.fixed}
            if mask:
                named = [documents.camel(path) for path in mask.split(",")]
                self._check_mask(named)
                new = {field: value for field, value in old.items() if field not in named}
                new |= {field: value for field, value in sent.items() if field in named}
            etag = _etag(old.get("etag", "0"))
            new |= self._with_fields(updateTime=timestamp(time.time()), etag=etag)
            self.records.put(self.kind, name, new)
        return new

    def _with_fields(self, **values: str) -> Json:
        """Return those of the values for which the proto has a field."""
        return {field: value for field, value in values.items() if field in self._fields}

    def _check_mask(self, named: list[str]) -> None:
        known = [documents.camel(field.name) for field in self.proto.pb().DESCRIPTOR.fields]
        for field in named:
            require(field in known, f"updateMask: {field!r} is no field of {self.proto.__name__}")
            require(field not in self.fixed, f"updateMask: {field} cannot be changed")

    def _same_etag(self, sent: str, document: Json) -> None:
        if sent and sent != document.get("etag"):
            kind = self.proto.__name__
            raise ApiError(  # the SDK looks for these words, then reads again and tries again
                "ABORTED",
                f"Specified {kind} `etag`: `{sent}` does not match server `etag`:"
                f" `{document.get('etag', '')}`",
            )

    def children(self, parent: str) -> list[Json]:
        """Return all of a parent's resources, by id."""
        place = f"{parent}/{self.noun}/"
        return [document for _, document in self.records.list(self.kind, place)]

    def delete(self, name: str, etag: str = "") -> None:
        """Delete a resource; it is an error if there is none."""
        with self.records.transaction():
            document = self.get(name)
            require(not etag or etag == document.get("etag"), f"{name} has another etag")
            self.records.delete(self.kind, name)

    def delete_below(self, name: str) -> None:
        """Delete the resources of this kind whose names begin with `name/`."""
        self.records.delete_below(self.kind, f"{name}/")


def _plural(singular: str) -> str:
    """Return the name of a list of resources: tensorboardTimeSeries, studies."""
    if singular.endswith("s"):
        return singular
    return f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s"


def _etag(old: str = "0") -> str:
    """Return an etag that is greater than the old one, also as text: the SDK compares them so."""
    return str(max(time.time_ns() // 1000, int(old) + 1))
