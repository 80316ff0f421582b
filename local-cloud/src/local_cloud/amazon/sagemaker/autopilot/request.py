"""Requests for Autopilot jobs: both versions of the call in one form, and what they must be.

Kept is the form of CreateAutoMLJobV2. Sources: botocore's model, and "Automated ML" with its
quotas in the developer guide (read 2026).
"""

from __future__ import annotations

from typing import Any

from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.sagemaker.resources.names import split_s3_uri
from local_cloud.amazon.sagemaker.resources.request import check_bucket, invalid
from local_cloud.json_types import Json
from local_cloud.store.objects import Objects

CHANNEL = ("ChannelType", "ContentType", "CompressionType", "DataSource")
SHARED = ("AutoMLJobName", "OutputDataConfig", "RoleArn", "AutoMLJobObjective", "ModelDeployConfig")
CSV = ("text/csv", "text/csv;header=present")
# The metrics that each type of problem can have; the first is its own, if the request has none.
METRICS = {
    "BinaryClassification": ("F1", "Accuracy", "AUC", "BalancedAccuracy", "Precision", "Recall"),
    "MulticlassClassification": (
        "Accuracy",
        "BalancedAccuracy",
        "F1macro",
        "PrecisionMacro",
        "RecallMacro",
    ),
    "Regression": ("MSE", "RMSE", "MAE", "R2"),
}
MINIMIZED = ("MSE", "RMSE", "MAE")
# The algorithms of ensembling mode that there is a counterpart of; the others are refused by name.
ALGORITHMS = {
    "linear-learner": "linear",
    "randomforest": "random forest",
    "extra-trees": "extra trees",
    "lightgbm": "boosting",
    "nn-torch": "network",
}
# Fields of a request that are checked and kept, and have no effect here.
IGNORED_IN = "an Autopilot job"  # as the table of calls names it
IGNORED = {
    "RoleArn": "everything here may read and write everything here",
    "OutputDataConfig.KmsKeyId": "nothing is encrypted",
    "SecurityConfig": "there is no VPC and no other machine",
    "TabularJobConfig.Mode": "AUTO and ENSEMBLING are one search, and nothing is stacked",
}
OTHER_PROBLEMS = {
    "ImageClassificationJobConfig": "image classification",
    "TextClassificationJobConfig": "text classification",
    "TimeSeriesForecastingJobConfig": "time-series forecasting",
    "TextGenerationJobConfig": "text generation",
}


def of_version_1(request: Json) -> Json:
    """Return the request of CreateAutoMLJob, as CreateAutoMLJobV2 has it."""
    config = request.get("AutoMLJobConfig") or {}
    targets = {channel["TargetAttributeName"] for channel in request["InputDataConfig"]}
    if len(targets) > 1:
        raise invalid("InputDataConfig: both channels need the same TargetAttributeName")
    weights = [
        channel[name]
        for channel in request["InputDataConfig"]
        if (name := "SampleWeightAttributeName") in channel
    ]
    generation = config.get("CandidateGenerationConfig") or {}
    tabular = {
        "TargetAttributeName": targets.pop(),
        "SampleWeightAttributeName": weights[0] if weights else None,
        "ProblemType": request.get("ProblemType"),
        "GenerateCandidateDefinitionsOnly": request.get("GenerateCandidateDefinitionsOnly"),
        "CompletionCriteria": config.get("CompletionCriteria"),
        "Mode": config.get("Mode"),
        "FeatureSpecificationS3Uri": generation.get("FeatureSpecificationS3Uri"),
        "CandidateGenerationConfig": _drop_empty(
            AlgorithmsConfig=generation.get("AlgorithmsConfig")
        ),
    }
    return {
        **{name: request[name] for name in SHARED if name in request},
        "AutoMLJobInputDataConfig": [
            {field: channel[field] for field in CHANNEL if field in channel}
            for channel in request["InputDataConfig"]
        ],
        "AutoMLProblemTypeConfig": {"TabularJobConfig": _drop_empty(**tabular)},
        **_drop_empty(
            SecurityConfig=config.get("SecurityConfig"),
            DataSplitConfig=config.get("DataSplitConfig"),
        ),
    }


def as_version_1(request: Json) -> Json:
    """Return the request as DescribeAutoMLJob shows it."""
    problem = tabular(request)
    column = ("TargetAttributeName", "SampleWeightAttributeName")
    columns = {name: problem[name] for name in column if name in problem}
    generation = dict(problem.get("CandidateGenerationConfig") or {})
    generation |= _drop_empty(FeatureSpecificationS3Uri=problem.get("FeatureSpecificationS3Uri"))
    return {
        **{name: request[name] for name in SHARED if name in request},
        "InputDataConfig": [channel | columns for channel in request["AutoMLJobInputDataConfig"]],
        "AutoMLJobConfig": _drop_empty(
            CompletionCriteria=problem.get("CompletionCriteria"),
            Mode=problem.get("Mode"),
            CandidateGenerationConfig=generation,
            SecurityConfig=request.get("SecurityConfig"),
            DataSplitConfig=request.get("DataSplitConfig"),
        ),
        "GenerateCandidateDefinitionsOnly": False,
        **_drop_empty(ProblemType=problem.get("ProblemType")),
    }


def tabular(request: Json) -> Json:
    """Return what the request says about the table."""
    problem: Json = request["AutoMLProblemTypeConfig"]["TabularJobConfig"]
    return problem


def criteria(request: Json) -> Json:
    """CompletionCriteria; {} if there are none."""
    return tabular(request).get("CompletionCriteria") or {}


def algorithms(request: Json) -> list[str]:
    """Return the algorithms that the request allows; [] for all."""
    config = (tabular(request).get("CandidateGenerationConfig") or {}).get("AlgorithmsConfig") or []
    return [name for one in config for name in one["AutoMLAlgorithms"]]


def check(request: Json, objects: Objects) -> None:
    """Raise ServiceError for a request that the service, or this local cloud, does not take."""
    problem = request["AutoMLProblemTypeConfig"]
    for field, what in OTHER_PROBLEMS.items():
        if field in problem:
            raise not_implemented(f"{field} (Autopilot for {what})")
    if "TabularJobConfig" not in problem:
        raise invalid("AutoMLProblemTypeConfig needs one of its members, such as TabularJobConfig")
    _check_missing(request)
    _check_objective(request)
    channels = [one.get("ChannelType", "training") for one in request["AutoMLJobInputDataConfig"]]
    if channels.count("training") != 1:
        raise invalid("AutoMLJobInputDataConfig needs exactly one channel of the type training")
    if "validation" in channels:
        raise not_implemented(
            "the ChannelType validation; here candidates are compared by cross-validation"
        )
    for channel in request["AutoMLJobInputDataConfig"]:
        _check_channel(channel, objects)
    check_bucket(
        "OutputDataConfig.S3OutputPath", request["OutputDataConfig"]["S3OutputPath"], objects
    )


def _check_missing(request: Json) -> None:
    problem = tabular(request)
    for field in (
        "SampleWeightAttributeName",
        "FeatureSpecificationS3Uri",
        "GenerateCandidateDefinitionsOnly",
    ):
        if problem.get(field):
            raise not_implemented(f"{field} of an Autopilot job")
    if request.get("DataSplitConfig"):
        raise not_implemented("DataSplitConfig; here candidates are compared by cross-validation")
    if problem.get("Mode") == "HYPERPARAMETER_TUNING":
        raise not_implemented(
            "Mode HYPERPARAMETER_TUNING, whose candidates are inference pipelines"
        )
    if any((request.get("ModelDeployConfig") or {}).values()):
        raise not_implemented("ModelDeployConfig; deploy the InferenceContainers of BestCandidate")
    if request.get("AutoMLComputeConfig"):
        raise not_implemented("AutoMLComputeConfig (EMR Serverless)")
    if unknown := [name for name in algorithms(request) if name not in ALGORITHMS]:
        raise not_implemented(
            f"the algorithms {', '.join(unknown)}; there are {', '.join(ALGORITHMS)}"
        )


def _check_objective(request: Json) -> None:
    problem = tabular(request).get("ProblemType")
    objective = request.get("AutoMLJobObjective")
    if bool(problem) != bool(objective):
        raise invalid(
            "Give both a ProblemType and an AutoMLJobObjective, or neither: then they are inferred"
        )
    if problem and objective and objective["MetricName"] not in METRICS[problem]:
        raise invalid(
            f"AutoMLJobObjective: {objective['MetricName']} is not a metric of {problem}; use one"
            f" of {', '.join(METRICS[problem])}"
        )


def _check_channel(channel: Json, objects: Objects) -> None:
    kind = channel.get("ContentType") or CSV[0]
    if kind.replace(" ", "") not in CSV:
        raise not_implemented(f"ContentType {kind} of an Autopilot job; use {CSV[1]}")
    if channel.get("CompressionType", "None") != "None":
        raise not_implemented(f"CompressionType {channel['CompressionType']} of an Autopilot job")
    source = (channel.get("DataSource") or {}).get("S3DataSource")
    if not source:
        raise invalid("AutoMLJobInputDataConfig: a channel needs a DataSource.S3DataSource")
    if source["S3DataType"] != "S3Prefix":
        raise not_implemented(f"S3DataType {source['S3DataType']}; use S3Prefix")
    check_bucket("S3DataSource.S3Uri", source["S3Uri"], objects)
    if next(objects.names(*split_s3_uri(source["S3Uri"])), None) is None:
        raise invalid(f"There is no object at {source['S3Uri']}: upload the table first")


def _drop_empty(**fields: Any) -> Json:
    """Return those that have a value."""
    return {name: value for name, value in fields.items() if value not in (None, {}, [])}
