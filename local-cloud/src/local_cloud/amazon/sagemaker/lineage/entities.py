"""Contexts, actions and artifacts: what associations lead to.

Sources: botocore's model of the API; "Lineage tracking entities" in the developer guide (only one
artifact with a source's URI), and the migration guide of the SDK's version 3 (associations are
deleted before what they connect), both read 2026.
"""

from __future__ import annotations

import hashlib

from local_cloud.amazon.sagemaker.lineage.associations import Associations
from local_cloud.amazon.sagemaker.resources.entities import Entities, Kind, merge
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.json_types import Json

MOST = 30  # properties of one: botocore's model
SUMMARY = ("Source", "Status")
CONTEXT = Kind("Context", "context", ("ContextType", *SUMMARY))
ACTION = Kind("Action", "action", ("ActionType", *SUMMARY))
ARTIFACT = Kind("Artifact", "artifact", ("ArtifactType", *SUMMARY))


class LineageEntities:
    """Entities of one kind, by name: contexts or actions."""

    def __init__(self, entities: Entities, associations: Associations) -> None:
        """associations: which keep an entity from being deleted."""
        self.entities, self.associations = entities, associations
        self.kind = entities.kind

    def create(self, request: Json) -> Json:
        """CreateContext, CreateAction, CreateArtifact."""
        return self.entities.create(request, self.key(request))

    def describe(self, params: Json) -> Json:
        """DescribeContext, DescribeAction, DescribeArtifact."""
        return self.entities.get(self.key(params))

    def update(self, params: Json) -> Json:
        """UpdateContext, UpdateAction, UpdateArtifact: properties are added and removed."""
        changes = dict(params)
        with self.entities.records.transaction():
            entity = self.entities.get(self.key(changes))
            changes |= merge(entity, changes, "Properties", most=MOST)
            return self.entities.change(entity, changes | {self.kind.arn: entity[self.kind.arn]})

    def delete(self, params: Json) -> Json:
        """DeleteContext, DeleteAction, DeleteArtifact: one without associations."""
        entity = self.entities.get(self.key(params))
        if self.associations.any_of(entity[self.kind.arn]):
            raise invalid(
                f"{entity[self.kind.arn]} has associations: delete them first (ListAssociations by"
                " SourceArn and by DestinationArn has them)"
            )
        return self.entities.delete(entity)

    def list(self, params: Json) -> Json:
        """ListContexts, ListActions, ListArtifacts: all, by the URI of the source, by type."""
        word = f"{self.kind.word}Type"
        uri, wanted = params.get("SourceUri"), params.get(word)
        entities = [
            one
            for one in self.entities.all()
            if uri in (None, one["Source"]["SourceUri"]) and wanted in (None, one[word])
        ]
        return self.entities.page(entities, params)

    def key(self, params: Json) -> str:
        """Return the key of the entity that a request is about."""
        name: str = params[self.kind.name]
        return name


class Artifacts(LineageEntities):
    """Artifacts: the key of one is made from the URI of its source, of which there is only one."""

    def key(self, params: Json) -> str:
        """Return the key in the ARN or, in a request without one, that of the source."""
        if arn := params.get("ArtifactArn"):
            return str(arn)
        if not (source := params.get("Source")):
            raise invalid("Either ArtifactArn or Source must be specified")
        return hashlib.md5(source["SourceUri"].encode(), usedforsecurity=False).hexdigest()

    def ensure(self, uri: str, artifact_type: str) -> str:
        """Return the ARN of the artifact with this source, which is made if it is not there."""
        wanted = {"Source": {"SourceUri": uri}, "ArtifactType": artifact_type}
        artifact = self.entities.find(self.key(wanted)) or self.create(wanted)
        made: str = artifact["ArtifactArn"]
        return made
