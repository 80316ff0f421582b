"""Associations: which entity contributed to, produced or is connected with which other one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

from local_cloud.amazon.account import CALLER
from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.sagemaker.lineage.vertices import Vertices
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.json_types import Json
from local_cloud.store import readable
from local_cloud.store.records import Records

KIND = "lineage-association"
SOURCE, DESTINATION = "SourceArn", "DestinationArn"
FILTERS = (SOURCE, DESTINATION, "SourceType", "DestinationType", "AssociationType")
SORTED_BY = (*FILTERS[:4], "CreationTime")


class Associations:
    """Associations by their two ARNs."""

    def __init__(self, records: Records, vertices: Vertices) -> None:
        """vertices: what they connect."""
        self.records, self.vertices = records, vertices

    def add(self, request: Json) -> Json:
        """AddAssociation: between two entities that are there."""
        ends = {field: self.vertices.get(request[field]).arn for field in (SOURCE, DESTINATION)}
        with self.records.transaction():
            if self.find(ends[SOURCE], ends[DESTINATION]):
                raise invalid(
                    "Associations must be unique within an AWS account and region. An association"
                    f" from {ends[SOURCE]} to {ends[DESTINATION]} already exists."
                )
            made = {"CreationTime": time.time(), "CreatedBy": CALLER}
            key = _key(ends[SOURCE], ends[DESTINATION])
            self.records.put(KIND, key, request | ends | made)
        return ends

    def delete(self, params: Json) -> Json:
        """DeleteAssociation."""
        if not self.find(params[SOURCE], params[DESTINATION]):
            raise ServiceError(
                "ResourceNotFound",
                f"Association from {params[SOURCE]} to {params[DESTINATION]} does not exist.",
            )
        self.records.delete(KIND, _key(params[SOURCE], params[DESTINATION]))
        return {field: params[field] for field in (SOURCE, DESTINATION)}

    def list(self, params: Json) -> Json:
        """ListAssociations: the newest first, unless the request says otherwise."""
        since, until = params.get("CreatedAfter", -math.inf), params.get("CreatedBefore", math.inf)
        wanted = {field: params[field] for field in FILTERS if field in params}
        listed = [
            one
            for one in readable.each(KIND, self._pairs(), lambda _, one: self._summary(one))
            if wanted.items() <= one.items() and since <= one["CreationTime"] <= until
        ]
        fields = {field: field for field in SORTED_BY}
        listed = listing.sort(listed, params, fields, default="Descending")
        return listing.page(listed, params, "AssociationSummaries")

    def _summary(self, document: Json) -> Json:
        summary = dict(document)
        for end in ("Source", "Destination"):
            vertex = self.vertices.get(document[f"{end}Arn"])
            summary[f"{end}Type"] = vertex.type
            if vertex.name:
                summary[f"{end}Name"] = vertex.name
        return summary

    def find(self, source: str, destination: str) -> Json | None:
        """Return the association between two entities, or None."""
        return self.records.get(KIND, _key(source, destination))

    def all(self) -> Sequence[Json]:
        """Return all associations that can be understood."""
        return [document for _, document in self._pairs()]

    def _pairs(self) -> Iterator[tuple[str, Json]]:
        for name, document in self.records.list(KIND):
            if document.get(SOURCE) and document.get(DESTINATION):
                yield name, document

    def any_of(self, arn: str) -> bool:
        """Say whether the entity is at an end of one."""
        return any(arn in (one[SOURCE], one[DESTINATION]) for one in self.all())

    def forget(self, arn: str) -> None:
        """Remove those of an entity, which is about to be deleted."""
        for one in self.all():
            if arn in (one[SOURCE], one[DESTINATION]):
                self.records.delete(KIND, _key(one[SOURCE], one[DESTINATION]))


def _key(source: str, destination: str) -> str:
    return f"{source} {destination}"
