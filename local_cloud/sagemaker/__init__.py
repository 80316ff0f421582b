"""Amazon SageMaker: training jobs on the engine; notebook instances as records."""

from local_cloud.sagemaker.api import service
from local_cloud.sagemaker.training import Training

__all__ = ["Training", "service"]
