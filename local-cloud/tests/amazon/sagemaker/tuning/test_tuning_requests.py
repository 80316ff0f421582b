"""Requests for tuning jobs that cannot be used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from local_cloud.json_types import Json
from tests.amazon.sagemaker.conftest import SharedService
from tests.amazon.sagemaker.support import (
    IMAGE,
    Refusal,
    go,
    running,
)
from tests.amazon.sagemaker.tuning.tuning_jobs import (
    LOSS,
    RATE,
    RATES,
    WARM,
    config,
    definition,
    end,
    send,
)

MANY = [RATE | {"Name": f"rate-{number}"} for number in range(30)]


def range_of(**changes: Any) -> Json:
    return {"ParameterRanges": {"ContinuousParameterRanges": [RATE | changes]}}


@pytest.mark.parametrize(
    ("changes", "wanted", "more", "code", "sentence"),
    [
        ({"HyperParameterTuningJobObjective": None}, {}, {}, "Validation",
         "HyperParameterTuningJobObjective is required"),
        ({"HyperParameterTuningJobObjective": LOSS}, {}, {}, "Validation",
         "The objective metric loss is not among the MetricDefinitions (distance)"),
        ({"HyperParameterTuningJobObjective": LOSS}, {}, {}, "Validation",
         "A metric is required for this hyperparameter tuning job objective. Provide a metric in"
         " the metric definitions."),
        ({"ParameterRanges": {"IntegerParameterRanges":
                              [RATE | {"MinValue": "0", "MaxValue": "2"}]},
          "ResourceLimits": {"MaxNumberOfTrainingJobs": 10, "MaxParallelTrainingJobs": 1}},
         {}, {}, "Validation",
         "for the provided ranges [3.0] must be equal or greater than the value of MaxNumberOfJobs,"
         " [10]. Provide additional ranges."),
        ({}, {"static": {f"p{number}": "" for number in range(96)}}, {}, "Validation",
         "The job has 101 hyperparameters, static and tuned ones and _tuning_objective_metric"),
        ({"Strategy": "Hyperband",
          "StrategyConfig": {"HyperbandStrategyConfig": {"MaxResource": 20_001}}}, {}, {},
         "Validation", "MaxResource is 20001: it can be 20000"),
        ({"ParameterRanges": {}}, {}, {}, "Validation", "there is no hyperparameter to tune"),
        ({"ParameterRanges": {"ContinuousParameterRanges": MANY, "IntegerParameterRanges":
                              [RATE]}}, {}, {}, "Validation",
         "31 hyperparameters; a tuning job searches 30 at most"),
        (range_of(MinValue="low"), {}, {}, "Validation",
         "The range of rate needs numbers, not 'low' and '10'"),
        (range_of(MinValue="11"), {}, {}, "Validation",
         "The range of rate goes from 11.0 to 10.0: its minimum is first"),
        (range_of(MinValue="-1.7e308", MaxValue="1.7e308"), {}, {}, "Validation",
         "The range of rate, from -1.7e+308 to 1.7e+308, is too wide for a number"),
        (range_of(ScalingType="Logarithmic"), {}, {}, "Validation",
         "The range of rate begins at 0.0: Logarithmic is for values above 0"),
        (range_of(ScalingType="ReverseLogarithmic"), {}, {}, "Validation",
         "from 0 to less than 1"),
        (range_of(Name="epochs"), {}, {}, "Validation",
         "The hyperparameters epochs are both static and tuned"),
        ({"Strategy": "Grid"}, {}, {}, "Validation",
         "The Grid strategy takes categorical hyperparameters only, not rate"),
        ({"Strategy": "Grid", "ParameterRanges": {"CategoricalParameterRanges": RATES},
          "ResourceLimits": {"MaxNumberOfTrainingJobs": 5, "MaxParallelTrainingJobs": 1}},
         {}, {}, "Validation", "MaxNumberOfTrainingJobs is 5, and the grid has 4 combinations"),
        ({"Strategy": "Hyperband", "TrainingJobEarlyStoppingType": "Auto"}, {}, {}, "Validation",
         "TrainingJobEarlyStoppingType must be Off"),
        ({"Strategy": "Hyperband",
          "StrategyConfig": {"HyperbandStrategyConfig": {"MinResource": 9}}}, {}, {}, "Validation",
         "Hyperband needs a MaxResource above MinResource (9)"),
        ({"ResourceLimits": {"MaxParallelTrainingJobs": 1}}, {}, {}, "Validation",
         "ResourceLimits.MaxNumberOfTrainingJobs is required"),
        ({"TuningJobCompletionCriteria": {"TargetObjectiveMetricValue": 0.1}}, {}, {}, "Not",
         "not implemented in the local cloud: HyperParameterTuningJobConfig.TuningJobCompletion"),
        ({}, {}, {"Autotune": {"Mode": "Enabled"}}, "Not",
         "not implemented in the local cloud: Autotune"),
        ({}, {"TuningObjective": LOSS}, {}, "Not",
         "not implemented in the local cloud: TrainingJobDefinition.TuningObjective"),
        ({}, {}, {"WarmStartConfig": WARM}, "ResourceNotFound",
         "can't find a tuning job with name parent"),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_used_is_refused_in_one_sentence(
    shared: SharedService, changes: Json, wanted: Json, more: Json, code: str, sentence: str
) -> None:
    with pytest.raises(Refusal, match=re.escape(sentence)) as refusal:
        send(shared, config(**changes), definition(shared, **wanted), **more)
    assert refusal.value.code.startswith(code)
    assert not shared("ListHyperParameterTuningJobs")["HyperParameterTuningJobSummaries"]


def test_a_warm_start_that_cannot_be_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            send(sagemaker, config(1), definition(sagemaker), "parent")
            warm = {"WarmStartConfig": WARM}
            ours = definition(sagemaker)
            with pytest.raises(Refusal, match="The parent tuning job parent has not ended"):
                send(sagemaker, config(1), ours, "child", **warm)
            await end(sagemaker, "parent")
            upwards = {"Type": "Maximize", "MetricName": "distance"}
            with pytest.raises(Refusal, match="is not that of the parent tuning job parent"):
                asked = config(1, HyperParameterTuningJobObjective=upwards)
                send(sagemaker, asked, ours, "child", **warm)
            with pytest.raises(Refusal, match="their number cannot change"):
                send(sagemaker, config(1), definition(sagemaker, static={"b": "2"}), "c", **warm)
            with pytest.raises(Refusal, match="is for the strategies Bayesian and Random"):
                ranges = {"CategoricalParameterRanges": RATES}
                send(sagemaker, config(4, ranges, Strategy="Grid"), ours, "child", **warm)
            other = definition(sagemaker)
            other["AlgorithmSpecification"]["TrainingImage"] = IMAGE + "-2"
            with pytest.raises(Refusal, match="TransferLearning allows that"):
                send(sagemaker, config(1), other, "child", **warm)
            transfer = {"WarmStartConfig": WARM | {"WarmStartType": "TransferLearning"}}
            send(sagemaker, config(1), other, "child", **transfer)
            assert "OverallBestTrainingJob" not in await end(sagemaker, "child")

    go(story())
