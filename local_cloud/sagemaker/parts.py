"""SageMaker's parts, each made once and given what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from local_cloud.sagemaker.autopilot.jobs import Autopilot
from local_cloud.sagemaker.batch_predictions import BatchPredictions
from local_cloud.sagemaker.deployed import Deployed
from local_cloud.sagemaker.endpoint_configs import EndpointConfigs
from local_cloud.sagemaker.endpoints import Endpoints
from local_cloud.sagemaker.model_registry import ModelRegistry
from local_cloud.sagemaker.models import Models
from local_cloud.sagemaker.notebooks import Notebooks
from local_cloud.sagemaker.pipelines.executions import PipelineExecutions
from local_cloud.sagemaker.pipelines.pipelines import Pipelines
from local_cloud.sagemaker.pipelines.steps import StepKinds
from local_cloud.sagemaker.pipelines.table import PipelineTable
from local_cloud.sagemaker.predictions import Predictions
from local_cloud.sagemaker.processing.jobs import Processing
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
    processing: Processing
    tuning: Tuning
    models: Models
    configs: EndpointConfigs
    endpoints: Endpoints
    predictions: Predictions
    batch_predictions: BatchPredictions
    deployed: Deployed
    pipelines: Pipelines
    executions: PipelineExecutions
    autopilot: Autopilot

    @classmethod
    def of(cls, platform: Platform) -> Parts:
        """Make them."""
        tags = Tags(platform.records)
        registry = ModelRegistry(platform.records, platform.s3, tags)
        notebooks = Notebooks(platform.records, tags)
        training, processing = Training(platform, tags), Processing(platform, tags)
        models = Models(platform.records, registry, tags)
        configs = EndpointConfigs(models)
        endpoints = Endpoints(platform, configs)
        batches = BatchPredictions(platform, models)
        table = PipelineTable(platform.records)
        pipelines = Pipelines(table, platform.s3, tags)
        kinds = StepKinds(training, processing, models, registry)
        executions = PipelineExecutions(table, pipelines, kinds, platform.s3)
        return cls(
            *(platform, tags, registry, notebooks, training, processing),
            Tuning(training, platform.studies),
            *(models, configs, endpoints, Predictions(endpoints)),
            *(batches, Deployed(platform, endpoints, batches)),
            pipelines,
            executions,
            Autopilot(training),
        )
