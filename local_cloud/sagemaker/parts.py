"""SageMaker's parts, each made once and given what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from local_cloud.sagemaker.model_registry import ModelRegistry
from local_cloud.sagemaker.notebooks import Notebooks
from local_cloud.sagemaker.tags import Tags
from local_cloud.sagemaker.training import Training
from local_cloud.sagemaker.tuning import Tuning
from local_cloud.service import Platform


@dataclass(frozen=True)
class Parts:
    """What the operations' declarations choose from."""

    platform: Platform
    tags: Tags
    models: ModelRegistry
    notebooks: Notebooks
    training: Training
    tuning: Tuning

    @classmethod
    def of(cls, platform: Platform) -> Parts:
        """Make them."""
        tags = Tags(platform.records)
        models = ModelRegistry(platform.records, platform.s3, tags)
        notebooks = Notebooks(platform.records, tags)
        training = Training(platform, tags)
        return cls(platform, tags, models, notebooks, training, Tuning(training, platform.studies))
