"""The operations of SageMaker's API that the local cloud has; it refuses all others by name."""

from __future__ import annotations

from local_cloud.amazon.protocols.json_protocol import Operation
from local_cloud.amazon.sagemaker.parts import Parts


def training(parts: Parts) -> dict[str, Operation]:
    """Return the operations on training jobs, by name."""
    jobs = parts.training
    return {
        "CreateTrainingJob": jobs.create,
        "DescribeTrainingJob": jobs.describe,
        "ListTrainingJobs": jobs.list,
        "StopTrainingJob": jobs.stop,
        "DeleteTrainingJob": jobs.delete,
        "UpdateTrainingJob": jobs.update,
    }


def processing(parts: Parts) -> dict[str, Operation]:
    """Return the operations on processing jobs."""
    jobs = parts.processing
    return {
        "CreateProcessingJob": jobs.create,
        "DescribeProcessingJob": jobs.describe,
        "ListProcessingJobs": jobs.list,
        "StopProcessingJob": jobs.stop,
    }


def tuning(parts: Parts) -> dict[str, Operation]:
    """Return the operations on tuning jobs."""
    jobs = parts.tuning
    return {
        "CreateHyperParameterTuningJob": jobs.create,
        "DescribeHyperParameterTuningJob": jobs.describe,
        "ListHyperParameterTuningJobs": jobs.list,
        "ListTrainingJobsForHyperParameterTuningJob": jobs.trials,
        "StopHyperParameterTuningJob": jobs.stop,
        "DeleteHyperParameterTuningJob": jobs.delete,
    }


def autopilot(parts: Parts) -> dict[str, Operation]:
    """Return the operations on Autopilot jobs."""
    jobs = parts.autopilot
    return {
        "CreateAutoMLJob": jobs.create,
        "CreateAutoMLJobV2": jobs.create_v2,
        "DescribeAutoMLJob": jobs.describe,
        "DescribeAutoMLJobV2": jobs.describe_v2,
        "ListAutoMLJobs": jobs.list,
        "ListCandidatesForAutoMLJob": jobs.candidates,
        "StopAutoMLJob": jobs.stop,
    }


def models(parts: Parts) -> dict[str, Operation]:
    """Return the operations on model packages and their groups."""
    registry = parts.registry
    return {
        "CreateModelPackageGroup": registry.create_group,
        "DescribeModelPackageGroup": registry.describe_group,
        "ListModelPackageGroups": registry.list_groups,
        "DeleteModelPackageGroup": registry.delete_group,
        "CreateModelPackage": registry.create,
        "DescribeModelPackage": registry.describe,
        "ListModelPackages": registry.list,
        "UpdateModelPackage": registry.update,
        "DeleteModelPackage": registry.delete,
    }


def endpoints(parts: Parts) -> dict[str, Operation]:
    """Return the operations on models, endpoint configurations and endpoints."""
    models, configs, endpoints = parts.models, parts.configs, parts.endpoints
    return {
        "CreateModel": models.create,
        "DescribeModel": models.describe,
        "ListModels": models.list,
        "DeleteModel": models.delete,
        "CreateEndpointConfig": configs.create,
        "DescribeEndpointConfig": configs.describe,
        "ListEndpointConfigs": configs.list,
        "DeleteEndpointConfig": configs.delete,
        "CreateEndpoint": endpoints.create,
        "DescribeEndpoint": endpoints.describe,
        "ListEndpoints": endpoints.list,
        "UpdateEndpoint": endpoints.update,
        "UpdateEndpointWeightsAndCapacities": endpoints.update_weights,
        "DeleteEndpoint": endpoints.delete,
    }


def batch_predictions(parts: Parts) -> dict[str, Operation]:
    """Return the operations on transform jobs."""
    jobs = parts.batch_predictions
    return {
        "CreateTransformJob": jobs.create,
        "DescribeTransformJob": jobs.describe,
        "ListTransformJobs": jobs.list,
        "StopTransformJob": jobs.stop,
    }


# Those on pipelines that read a whole definition.
IN_THREAD = ("CreatePipeline", "UpdatePipeline", "StartPipelineExecution")


def pipelines(parts: Parts) -> dict[str, Operation]:
    """Return the operations on pipelines and their executions."""
    pipelines, executions = parts.pipelines, parts.executions
    return {
        "CreatePipeline": pipelines.create,
        "UpdatePipeline": pipelines.update,
        "DescribePipeline": pipelines.describe,
        "ListPipelines": pipelines.list,
        "DeletePipeline": pipelines.delete,
        "StartPipelineExecution": executions.start_execution,
        "DescribePipelineExecution": executions.describe,
        "ListPipelineExecutions": executions.list,
        "StopPipelineExecution": executions.stop,
        "UpdatePipelineExecution": executions.update,
        "ListPipelineExecutionSteps": executions.list_steps,
        "DescribePipelineDefinitionForExecution": executions.definition,
        "ListPipelineParametersForExecution": executions.parameters,
    }


def experiments(parts: Parts) -> dict[str, Operation]:
    """Return the operations on experiments, trials and their components, and Search."""
    tracking = parts.tracking
    experiments, trials, components = tracking.experiments, tracking.trials, tracking.components
    return {
        "CreateExperiment": experiments.create,
        "DescribeExperiment": experiments.describe,
        "UpdateExperiment": experiments.update,
        "ListExperiments": experiments.list,
        "DeleteExperiment": experiments.delete,
        "CreateTrial": trials.create,
        "DescribeTrial": trials.describe,
        "UpdateTrial": trials.update,
        "ListTrials": trials.list,
        "DeleteTrial": trials.delete,
        "CreateTrialComponent": components.create,
        "DescribeTrialComponent": components.describe,
        "UpdateTrialComponent": components.update,
        "ListTrialComponents": trials.list_components,
        "DeleteTrialComponent": components.delete,
        "AssociateTrialComponent": trials.associate,
        "DisassociateTrialComponent": trials.disassociate,
        "Search": parts.search.search,
    }


def lineage(parts: Parts) -> dict[str, Operation]:
    """Return the operations on contexts, actions, artifacts and associations."""
    tracking, associations = parts.tracking, parts.tracking.associations
    operations: dict[str, Operation] = {
        "AddAssociation": associations.add,
        "ListAssociations": associations.list,
        "DeleteAssociation": associations.delete,
        "QueryLineage": tracking.query.query,
    }
    for entities in (tracking.contexts, tracking.actions, tracking.artifacts):
        word = entities.kind.word
        operations |= {
            f"Create{word}": entities.create,
            f"Describe{word}": entities.describe,
            f"Update{word}": entities.update,
            f"List{word}s": entities.list,
            f"Delete{word}": entities.delete,
        }
    return operations
