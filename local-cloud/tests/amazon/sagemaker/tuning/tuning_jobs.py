"""Tuning jobs for the tests: their requests, and their trials."""

from __future__ import annotations

from typing import Any

from local_cloud.json_types import Json
from tests.amazon.sagemaker.conftest import SharedService
from tests.amazon.sagemaker.support import (
    BUCKET,
    IMAGE,
    ROLE,
    Service,
    packed,
)

# Says how far the rate is from 3, and what it was started with.
TRIAL = """
import json, os, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with open("/opt/ml/input/config/hyperparameters.json") as file:
    words["all"] = json.load(file)
with open("/opt/ml/model/seen.json", "w") as file:
    json.dump(words, file)
print("distance =", abs(float(words["--rate"]) - 3))
"""
DISTANCE = {"Name": "distance", "Regex": r"distance = (\S+)"}
RATE = {"Name": "rate", "MinValue": "0", "MaxValue": "10", "ScalingType": "Linear"}
RATES = [{"Name": "rate", "Values": ["3", "4", "5", "9"]}]
LOSS = {"Type": "Minimize", "MetricName": "loss"}
WARM = {
    "ParentHyperParameterTuningJobs": [{"HyperParameterTuningJobName": "parent"}],
    "WarmStartType": "IdenticalDataAndAlgorithm",
}
BEST = "BestTrainingJob"
NAME = {"HyperParameterTuningJobName": "tuned"}


def config(trials: int = 4, ranges: Json | None = None, **changes: Any) -> Json:
    """HyperParameterTuningJobConfig; ranges: ParameterRanges, by default those of the rate."""
    return {
        "Strategy": "Bayesian",
        "HyperParameterTuningJobObjective": {"Type": "Minimize", "MetricName": "distance"},
        "ResourceLimits": {"MaxNumberOfTrainingJobs": trials, "MaxParallelTrainingJobs": 2},
        "ParameterRanges": ranges or {"ContinuousParameterRanges": [RATE]},
        "RandomSeed": 1,
    } | changes


def definition(sagemaker: Service | SharedService, script: str = TRIAL, **changes: Any) -> Json:
    """A TrainingJobDefinition, as the SDK's version 3 sends it, that runs this script."""
    code = {
        "sagemaker_program": "task.py",
        "sagemaker_submit_directory": sagemaker.put("code.tar.gz", packed({"task.py": script})),
    }
    return {
        "StaticHyperParameters": code | {"epochs": "5"} | changes.pop("static", {}),
        "AlgorithmSpecification": {
            "TrainingImage": IMAGE,
            "TrainingInputMode": "File",
            "MetricDefinitions": [DISTANCE],
        },
        "RoleArn": ROLE,
        "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
        "ResourceConfig": {
            "InstanceType": "ml.m5.large",
            "InstanceCount": 1,
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
    } | changes


def send(
    sagemaker: Service | SharedService, asked: Json, wanted: Json, name: str = "tuned", **more: Any
) -> str:
    """Begin a tuning job; returns its name."""
    sagemaker(
        "CreateHyperParameterTuningJob",
        HyperParameterTuningJobName=name,
        HyperParameterTuningJobConfig=asked,
        TrainingJobDefinition=wanted,
        **more,
    )
    return name


async def end(sagemaker: Service, name: str = "tuned") -> Json:
    """The tuning job's description as soon as it has ended."""
    studies = sagemaker.studies
    study = studies.get(name)
    while not study.state.ended:
        study = await studies.wait_for_change(study, 60)
    return sagemaker("DescribeHyperParameterTuningJob", HyperParameterTuningJobName=name)


def trials(sagemaker: Service, name: str = "tuned", **order: Any) -> list[Json]:
    listed: list[Json] = sagemaker(
        "ListTrainingJobsForHyperParameterTuningJob",
        HyperParameterTuningJobName=name,
        **{"MaxResults": 100} | order,
    )["TrainingJobSummaries"]
    return listed


def value(trial: Json) -> float:
    return float(trial["FinalHyperParameterTuningJobObjectiveMetric"]["Value"])
