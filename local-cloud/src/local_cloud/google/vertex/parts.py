"""Vertex AI's parts, each made once and given what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from local_cloud.google.vertex.automl.trainings import AutoMl
from local_cloud.google.vertex.datasets.datasets import Datasets
from local_cloud.google.vertex.endpoints.batch_predictions import BatchPredictions
from local_cloud.google.vertex.endpoints.endpoints import Endpoints
from local_cloud.google.vertex.endpoints.predictions import Predictions
from local_cloud.google.vertex.jobs.tracked_jobs import TrackedJobs
from local_cloud.google.vertex.jobs.training import Training
from local_cloud.google.vertex.models.bigquery import by_bigquery
from local_cloud.google.vertex.models.registry import ModelRegistry
from local_cloud.google.vertex.pipelines.jobs import PipelineJobs
from local_cloud.google.vertex.pipelines.schedules import Schedules
from local_cloud.google.vertex.tracking.metadata import Metadata
from local_cloud.google.vertex.tracking.tensorboards import Tensorboards
from local_cloud.google.vertex.tuning.tuning import Tuning
from local_cloud.platform import Platform


@dataclass(frozen=True)
class Parts:
    """What the resources' declarations choose from."""

    platform: Platform
    models: ModelRegistry
    metadata: Metadata
    tensorboards: Tensorboards
    training: Training
    tuning: Tuning
    endpoints: Endpoints
    predictions: Predictions
    batches: BatchPredictions
    pipelines: PipelineJobs
    schedules: Schedules
    datasets: Datasets

    @classmethod
    def of(cls, platform: Platform) -> Parts:
        """Make them."""
        records, objects = platform.records, platform.gs
        models, metadata = ModelRegistry(records, objects), Metadata(records)
        tensorboards = Tensorboards(records)
        hidden = platform.engine.hidden
        tracking = TrackedJobs(records, objects, metadata, tensorboards=tensorboards, hidden=hidden)
        datasets = Datasets(records, objects, platform.tables)
        platform.registries["VERTEX_AI"] = by_bigquery(models)
        automl = AutoMl(platform, models, datasets)
        training = Training(platform, models, tracking, automl=automl)
        tuning = Tuning(training, platform.studies)
        endpoints = Endpoints(platform, models)
        pipelines = PipelineJobs(training, metadata)
        platform.counts["pipelines"] = pipelines.count_running
        return cls(
            platform,
            models,
            metadata,
            tensorboards,
            training,
            tuning,
            endpoints,
            Predictions(endpoints),
            BatchPredictions(platform, models),
            pipelines,
            Schedules(pipelines),
            datasets,
        )
