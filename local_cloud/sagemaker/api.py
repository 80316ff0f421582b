"""The operations of SageMaker's API that the local cloud has; it refuses all others by name."""

from __future__ import annotations

from local_cloud.aws.json_protocol import JsonService, Operation
from local_cloud.sagemaker.notebooks import Notebooks
from local_cloud.sagemaker.packages import Packages
from local_cloud.sagemaker.training import Training


def operations(training: Training) -> dict[str, Operation]:
    """Each operation's name, and what answers it."""
    notebooks = Notebooks(training.records, training.tags)
    packages = Packages(training.records, training.objects, training.tags)
    return {
        "CreateTrainingJob": training.create,
        "DescribeTrainingJob": training.describe,
        "ListTrainingJobs": training.list,
        "StopTrainingJob": training.stop,
        "DeleteTrainingJob": training.delete,
        "UpdateTrainingJob": training.update,
        "CreateHyperParameterTuningJob": training.tuning.create,
        "DescribeHyperParameterTuningJob": training.tuning.describe,
        "ListHyperParameterTuningJobs": training.tuning.list,
        "ListTrainingJobsForHyperParameterTuningJob": training.tuning.trials,
        "StopHyperParameterTuningJob": training.tuning.stop,
        "DeleteHyperParameterTuningJob": training.tuning.delete,
        "AddTags": training.tags.add,
        "ListTags": training.tags.list,
        "DeleteTags": training.tags.delete,
        "CreateNotebookInstance": notebooks.create,
        "DescribeNotebookInstance": notebooks.describe,
        "ListNotebookInstances": notebooks.list,
        "StartNotebookInstance": notebooks.start,
        "StopNotebookInstance": notebooks.stop,
        "UpdateNotebookInstance": notebooks.update,
        "DeleteNotebookInstance": notebooks.delete,
        "CreateModelPackageGroup": packages.create_group,
        "DescribeModelPackageGroup": packages.describe_group,
        "ListModelPackageGroups": packages.list_groups,
        "DeleteModelPackageGroup": packages.delete_group,
        "CreateModelPackage": packages.create,
        "DescribeModelPackage": packages.describe,
        "ListModelPackages": packages.list,
        "UpdateModelPackage": packages.update,
        "DeleteModelPackage": packages.delete,
    }


def service(training: Training) -> JsonService:
    """SageMaker's API."""
    return JsonService("sagemaker", operations(training))
