"""SageMaker's parts, each made once and given what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from local_cloud.sagemaker.batch_predictions import BatchPredictions
from local_cloud.sagemaker.deployed import Deployed
from local_cloud.sagemaker.endpoint_configs import EndpointConfigs
from local_cloud.sagemaker.endpoints import Endpoints
from local_cloud.sagemaker.model_registry import ModelRegistry
from local_cloud.sagemaker.models import Models
from local_cloud.sagemaker.notebooks import Notebooks
from local_cloud.sagemaker.predictions import Predictions
from local_cloud.sagemaker.tags import Tags
from local_cloud.sagemaker.training import Training
from local_cloud.sagemaker.tuning import Tuning
from local_cloud.service import Platform


@dataclass(frozen=True)
class Parts:
    """What the operations' declarations choose from."""

    platform: Platform
    tags: Tags
    registry: ModelRegistry
    notebooks: Notebooks
    training: Training
    tuning: Tuning
    models: Models
    configs: EndpointConfigs
    endpoints: Endpoints
    predictions: Predictions
    batch_predictions: BatchPredictions
    deployed: Deployed

    @classmethod
    def of(cls, platform: Platform) -> Parts:
        """Make them."""
        tags = Tags(platform.records)
        registry = ModelRegistry(platform.records, platform.s3, tags)
        notebooks = Notebooks(platform.records, tags)
        training = Training(platform, tags)
        models = Models(platform.records, registry, tags)
        configs = EndpointConfigs(models)
        endpoints = Endpoints(platform, configs)
        batches = BatchPredictions(platform, models)
        return cls(
            *(platform, tags, registry, notebooks, training, Tuning(training, platform.studies)),
            *(models, configs, endpoints, Predictions(endpoints)),
            *(batches, Deployed(platform, endpoints, batches)),
        )
