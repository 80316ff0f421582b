"""Vertex AI's parts, each made once and given what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from local_cloud.service import Platform
from local_cloud.vertex.batch_predictions import BatchPredictions
from local_cloud.vertex.endpoints import Endpoints
from local_cloud.vertex.metadata import Metadata
from local_cloud.vertex.model_registry import ModelRegistry
from local_cloud.vertex.predictions import Predictions
from local_cloud.vertex.tensorboards import Tensorboards
from local_cloud.vertex.tracking import Tracking
from local_cloud.vertex.training import Training
from local_cloud.vertex.tuning import Tuning


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

    @classmethod
    def of(cls, platform: Platform) -> Parts:
        """Make them."""
        records, objects = platform.records, platform.gs
        models, metadata = ModelRegistry(records, objects), Metadata(records)
        tensorboards = Tensorboards(records)
        tracking = Tracking(records, objects, metadata, tensorboards)
        training = Training(platform, models, tracking)
        tuning = Tuning(training, platform.studies)
        endpoints = Endpoints(platform, models)
        return cls(
            *(platform, models, metadata, tensorboards, training, tuning),
            *(endpoints, Predictions(endpoints), BatchPredictions(platform, models)),
        )
