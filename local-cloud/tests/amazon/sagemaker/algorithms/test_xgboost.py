"""The built-in XGBoost, without a script: where xgboost is not installed it is refused by name."""

from __future__ import annotations

from pathlib import Path

from local_cloud.json_types import Json
from tests.amazon.sagemaker.support import channel, go, request, running
from tests.amazon.sagemaker.tuning.tuning_jobs import config, definition, send

IMAGE = "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:3.0-5"
RMSE = {"Type": "Minimize", "MetricName": "validation:rmse"}


def algorithm() -> Json:
    return {"AlgorithmSpecification": {"TrainingImage": IMAGE, "TrainingInputMode": "File"}}


def test_without_the_package_the_job_fails_and_says_how_to_get_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            data = channel("train", sagemaker.put("train/a.csv", "1,2\n"))
            asked = request(InputDataConfig=[data], HyperParameters={"num_round": "1"})
            name = sagemaker.create(**asked | algorithm())
            job = await sagemaker.end(name, "Failed")
            assert "xgboost is not installed there: pull the image" in job["FailureReason"]

    go(story())


def test_its_metrics_are_known_and_those_of_a_script_are_not(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            name = sagemaker.create(**request("built-in") | algorithm())
            job = sagemaker("DescribeTrainingJob", TrainingJobName=name)
            names = [each["Name"] for each in job["AlgorithmSpecification"]["MetricDefinitions"]]
            assert "validation:rmse" in names and "validation:auc" in names
            script = {"HyperParameters": {"sagemaker_program": "x.py"}}
            name = sagemaker.create(**request("with-a-script") | algorithm() | script)
            job = sagemaker("DescribeTrainingJob", TrainingJobName=name)
            assert "MetricDefinitions" not in job["AlgorithmSpecification"]
            wanted = definition(sagemaker) | algorithm() | {"StaticHyperParameters": {}}
            send(sagemaker, config(1, HyperParameterTuningJobObjective=RMSE), wanted)
            await sagemaker.end("built-in", "Failed")
            await sagemaker.end("with-a-script", "Failed")

    go(story())
