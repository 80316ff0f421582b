"""What can be at an end of an association, as one shape: an entity of lineage or of experiments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.sagemaker.resources.entities import Entities
from local_cloud.json_types import Json

LINEAGE_TYPES = {
    "context": "Context",
    "action": "Action",
    "artifact": "Artifact",
    "experiment-trial-component": "TrialComponent",
    # "Conceptually, experiments and trials are contexts": the developer guide (read 2026).
    "experiment": "Context",
}
# SourceType of a component that is of no job: the comment in Artifact.downstream_trials of the SDK.
COMPONENT_TYPE, EXPERIMENT_TYPE = "SageMakerExperimentTrialComponent", "SageMakerExperiment"


@dataclass(frozen=True)
class Vertex:
    """An entity, as associations and queries show it."""

    arn: str
    name: str  # "" of an artifact without one
    type: str  # "DataSet", "SageMakerTrainingJob"
    lineage_type: str
    document: Json

    def describe(self) -> Json:
        """Return it as QueryLineage does, where jobs have no prefix: LineageSourceEnum."""
        own = self.type.removeprefix("SageMaker")
        return {"Arn": self.arn, "Type": own, "LineageType": self.lineage_type}


class Vertices:
    """Entities of all these kinds, by ARN."""

    def __init__(self, kinds: Iterable[Entities]) -> None:
        """kinds: those of LINEAGE_TYPES."""
        self._kinds = {entities.kind.resource: entities for entities in kinds}

    def get(self, arn: str) -> Vertex:
        """Return the entity; raises ServiceError if there is none."""
        resource, _, key = arn.rpartition(":")[2].partition("/")
        entities = self._kinds.get(resource)
        document = entities.find(key) if entities else None
        if entities is None or document is None:
            raise ServiceError("ResourceNotFound", f"{arn} does not exist.")
        word = entities.kind.word
        return Vertex(
            document[entities.kind.arn],
            document.get(entities.kind.name, ""),
            document.get(f"{word}Type") or _type(resource, document),
            LINEAGE_TYPES[resource],
            document,
        )


def _type(resource: str, document: Json) -> str:
    if resource == "experiment":
        return EXPERIMENT_TYPE
    return str(document.get("Source", {}).get("SourceType", COMPONENT_TYPE))
