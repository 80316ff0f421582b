"""What experiments and lineage have in common: entities with a creator, times, maps and tags."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from local_cloud.amazon.account import CALLER
from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.amazon.sagemaker.resources.tags import Tags
from local_cloud.json_types import Json
from local_cloud.store.records import Records


@dataclass(frozen=True)
class Kind:
    """A kind of entity."""

    word: str  # "Context": what the fields of its requests begin with
    resource: str  # "context": of its ARN, and the kind of its records
    summary: tuple[str, ...]  # fields of one in a list, beside ARN, name and times

    @property
    def name(self) -> str:
        """Return the field of its name."""
        return f"{self.word}Name"

    @property
    def arn(self) -> str:
        """Return the field of its ARN."""
        return f"{self.word}Arn"


class Entities:
    """The entities of one kind, by a key that is their name in most kinds.

    Names are not case-sensitive: API reference, CreateExperiment.
    """

    def __init__(self, records: Records, tags: Tags, kind: Kind) -> None:
        """Keep them as documents in the records; tags: those of all of SageMaker's resources."""
        self.records, self.tags, self.kind = records, tags, kind
        self.at_delete: list[Callable[[str], None]] = []  # what else goes with one, by its ARN

    def arn(self, key: str) -> str:
        """Return the ARN of the one with this key."""
        return arn(f"{self.kind.resource}/{key.lower()}")

    def find(self, key: str) -> Json | None:
        """Return the one with this key or ARN, or None."""
        return self.records.get(self.kind.resource, key.rpartition("/")[2].lower())

    def get(self, key: str) -> Json:
        """Return the one with this key or ARN; raises ServiceError if there is none."""
        entity = self.find(key)
        if entity is None:
            raise ServiceError("ResourceNotFound", f"{self.kind.word} '{key}' does not exist.")
        return entity

    def all(self) -> Iterable[Json]:
        """Return all of this kind that can be understood."""
        documents = (document for _, document in self.records.list(self.kind.resource))
        return listing.complete(documents, self.kind.arn)

    def create(self, request: Json, key: str) -> Json:
        """Record a new one; returns its ARN, as its Create operation answers.

        request: without the tags, which are its own, it becomes the document.
        """
        tags, now = request.pop("Tags", []), time.time()
        made = {self.kind.arn: self.arn(key)}
        times = {"CreationTime": now, "LastModifiedTime": now}
        with self.records.transaction():
            if self.find(key):
                raise invalid(
                    f"{self.kind.word} names must be unique within an AWS account and region."
                    f" {self.kind.word} with name ({key}) already exists."
                )
            self.tags.create(self.arn(key), tags)
            document = request | made | times | {"CreatedBy": CALLER}
            self.records.put(self.kind.resource, key.lower(), document)
        return made

    def change(self, document: Json, changes: Json) -> Json:
        """Record the changes of one; returns its ARN, as its Update operation answers."""
        changed = {"LastModifiedTime": time.time(), "LastModifiedBy": CALLER}
        key = document[self.kind.arn].rpartition("/")[2]
        self.records.put(self.kind.resource, key, document | changes | changed)
        return {self.kind.arn: document[self.kind.arn]}

    def delete(self, document: Json) -> Json:
        """Forget one and its tags; returns its ARN, as its Delete operation answers."""
        entity_arn: str = document[self.kind.arn]
        with self.records.transaction():
            self.records.delete(self.kind.resource, entity_arn.rpartition("/")[2])
            self.tags.forget(entity_arn)
            for forget in self.at_delete:
                forget(entity_arn)
        return {self.kind.arn: entity_arn}

    def page(self, items: Iterable[Json], params: Json) -> Json:
        """Return a page of summaries: the newest first, unless the request says otherwise."""
        since, until = params.get("CreatedAfter", -math.inf), params.get("CreatedBefore", math.inf)
        times = ("CreationTime", "LastModifiedTime")
        shown = (self.kind.name, self.kind.arn, *times, *self.kind.summary)
        chosen = (item for item in items if since <= item["CreationTime"] <= until)
        fields = {"Name": self.kind.name, "CreationTime": "CreationTime"}
        short = listing.shorten(chosen, *shown)
        listed = listing.sort(short, params, fields, default="Descending")
        return listing.page(listed, params, f"{self.kind.word}Summaries")


def merge(document: Json, changes: Json, field: str, *, most: int) -> Json:
    """Return the field's map after the changes, which are taken out of the request.

    changes: new entries under the field's name, keys under the name with "ToRemove".
    """
    kept = document.get(field, {}) | changes.pop(field, {})
    for key in changes.pop(f"{field}ToRemove", []):
        kept.pop(key, None)
    if len(kept) > most:
        raise invalid(f"{field}: {len(kept)} keys; there can be {most} at most")
    return {field: kept}
