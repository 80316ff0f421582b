"""SageMaker's parts, each made once and given what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from local_cloud.amazon.sagemaker.autopilot.jobs import Autopilot
from local_cloud.amazon.sagemaker.endpoints.batch_predictions import BatchPredictions
from local_cloud.amazon.sagemaker.endpoints.configs import EndpointConfigs
from local_cloud.amazon.sagemaker.endpoints.endpoints import Endpoints
from local_cloud.amazon.sagemaker.endpoints.predictions import Predictions
from local_cloud.amazon.sagemaker.endpoints.serving_dialect import DeploymentDialect
from local_cloud.amazon.sagemaker.jobs.training import Training
from local_cloud.amazon.sagemaker.models.models import Models
from local_cloud.amazon.sagemaker.models.registry import ModelRegistry
from local_cloud.amazon.sagemaker.pipelines.executions import PipelineExecutions
from local_cloud.amazon.sagemaker.pipelines.pipelines import Pipelines
from local_cloud.amazon.sagemaker.pipelines.steps import StepKinds
from local_cloud.amazon.sagemaker.pipelines.table import PipelineTable
from local_cloud.amazon.sagemaker.processing.jobs import Processing
from local_cloud.amazon.sagemaker.resources.tags import Tags
from local_cloud.amazon.sagemaker.search.search import Search
from local_cloud.amazon.sagemaker.tracking_parts import TrackingParts
from local_cloud.amazon.sagemaker.tuning.tuning import Tuning
from local_cloud.platform import Platform


@dataclass(frozen=True)
class Parts:
    """What the operations' declarations choose from."""

    platform: Platform
    tags: Tags
    registry: ModelRegistry
    training: Training
    processing: Processing
    tuning: Tuning
    models: Models
    configs: EndpointConfigs
    endpoints: Endpoints
    predictions: Predictions
    batch_predictions: BatchPredictions
    deployed: DeploymentDialect
    pipelines: Pipelines
    executions: PipelineExecutions
    autopilot: Autopilot
    tracking: TrackingParts
    search: Search

    @classmethod
    def of(cls, platform: Platform) -> Parts:
        """Make them."""
        tags = Tags(platform.records)
        registry = ModelRegistry(platform.records, platform.s3, tags)
        tracking = TrackingParts.of(platform.records, tags)
        training = Training(platform, tags, tracking.jobs)
        processing = Processing(platform, tags, tracking.jobs)
        models = Models(platform.records, registry, tags)
        configs = EndpointConfigs(models)
        endpoints = Endpoints(platform, configs)
        batches = BatchPredictions(platform, models, tracking.jobs)
        table = PipelineTable(platform.records)
        pipelines = Pipelines(table, platform.s3, tags)
        tuning = Tuning(training, platform.studies)
        kinds = StepKinds(training, tuning, processing, models=models, registry=registry)
        kinds_to_find = {
            "TrainingJob": training.all,
            "Experiment": tracking.experiments.entities.all,
            "ExperimentTrial": tracking.trials.all,
            "ExperimentTrialComponent": tracking.trials.all_components,
        }
        executions = PipelineExecutions(table, pipelines, kinds, objects=platform.s3)
        platform.counts["pipeline executions"] = executions.count_running
        return cls(
            platform,
            tags,
            registry,
            training,
            processing,
            tuning,
            models,
            configs,
            endpoints,
            Predictions(endpoints),
            batches,
            DeploymentDialect(platform, endpoints, batches),
            pipelines,
            executions,
            Autopilot(training),
            tracking,
            Search(kinds_to_find, tags),
        )
