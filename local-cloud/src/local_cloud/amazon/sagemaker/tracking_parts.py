"""The parts that track: experiments and lineage, each made once and given what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from local_cloud.amazon.sagemaker.experiments.components import COMPONENT, TrialComponents
from local_cloud.amazon.sagemaker.experiments.experiments import EXPERIMENT, Experiments
from local_cloud.amazon.sagemaker.experiments.memberships import Memberships
from local_cloud.amazon.sagemaker.experiments.metrics import ComponentMetrics
from local_cloud.amazon.sagemaker.experiments.metrics_api import MetricsApi
from local_cloud.amazon.sagemaker.experiments.trials import TRIAL, Trials
from local_cloud.amazon.sagemaker.lineage.associations import Associations
from local_cloud.amazon.sagemaker.lineage.entities import (
    ACTION,
    ARTIFACT,
    CONTEXT,
    Artifacts,
    LineageEntities,
)
from local_cloud.amazon.sagemaker.lineage.jobs import JobLineage
from local_cloud.amazon.sagemaker.lineage.query import LineageQuery
from local_cloud.amazon.sagemaker.lineage.vertices import Vertices
from local_cloud.amazon.sagemaker.resources.entities import Entities
from local_cloud.amazon.sagemaker.resources.tags import Tags
from local_cloud.store.records import Records


@dataclass(frozen=True)
class TrackingParts:
    """What the declarations of operations, and the jobs, choose from."""

    experiments: Experiments
    trials: Trials
    components: TrialComponents
    metrics: MetricsApi
    contexts: LineageEntities
    actions: LineageEntities
    artifacts: Artifacts
    associations: Associations
    query: LineageQuery
    jobs: JobLineage

    @classmethod
    def of(cls, records: Records, tags: Tags) -> TrackingParts:
        """Make them."""
        experiments, trials, components, contexts, actions, artifacts = (
            Entities(records, tags, kind)
            for kind in (EXPERIMENT, TRIAL, COMPONENT, CONTEXT, ACTION, ARTIFACT)
        )
        vertices = Vertices((contexts, actions, artifacts, components, experiments))
        associations = Associations(records, vertices)
        for entities in (components, experiments):  # the others are kept by their associations
            entities.at_delete.append(associations.forget)
        all_components = TrialComponents(
            components, Memberships(records), ComponentMetrics(records)
        )
        all_trials = Trials(all_components, trials, experiments)
        all_artifacts = Artifacts(artifacts, associations)
        return cls(
            experiments=Experiments(all_trials, experiments),
            trials=all_trials,
            components=all_components,
            metrics=MetricsApi(all_components),
            contexts=LineageEntities(contexts, associations),
            actions=LineageEntities(actions, associations),
            artifacts=all_artifacts,
            associations=associations,
            query=LineageQuery(associations, vertices),
            jobs=JobLineage(all_trials, all_artifacts, associations),
        )
