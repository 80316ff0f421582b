"""What a tuning job asks for: seeds, warm starts, early stopping, and metrics that never arrive."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.amazon.sagemaker.support import Refusal, go, running
from tests.amazon.sagemaker.tuning.test_tuning import lighter as lighter
from tests.amazon.sagemaker.tuning.tuning_jobs import (
    BEST,
    NAME,
    RATE,
    RATES,
    WARM,
    config,
    definition,
    end,
    send,
    trials,
    value,
)


def test_a_metric_that_never_arrives_fails_the_objective_and_names_those_that_did(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            wanted = definition(sagemaker)
            wrong = {"Name": "loss", "Regex": r"validation:loss = (\S+)"}
            wanted["AlgorithmSpecification"]["MetricDefinitions"].append(wrong)
            goal = {"Type": "Minimize", "MetricName": "loss"}
            asked = config(12, HyperParameterTuningJobObjective=goal)
            asked["ResourceLimits"]["MaxParallelTrainingJobs"] = 1
            send(sagemaker, asked, wanted)
            study = await end(sagemaker)
            assert study["HyperParameterTuningJobStatus"] == "Failed"
            # The words are StopTrainingJob's (awslabs/benchmark-ai#928, 2019). The code is known:
            # to version 2 of the SDK a ValidationException means "already stopped".
            with pytest.raises(Refusal, match="is in status Failed") as refusal:
                sagemaker("StopHyperParameterTuningJob", **NAME)
            assert refusal.value.code == "ValidationException"
            # The service does not wait for all twelve.
            assert study["ObjectiveStatusCounters"] == {"Succeeded": 0, "Pending": 0, "Failed": 5}
            assert study["TrainingJobStatusCounters"]["Completed"] == 5
            sentence = "No objective metrics found after running 5 training jobs."
            assert study["FailureReason"].startswith(sentence)
            for trial in trials(sagemaker):
                assert trial["TrainingJobStatus"] == "Completed"
                assert trial["ObjectiveStatus"] == "Failed"
                assert trial["FailureReason"] == (
                    "The training job did not write the objective metric loss to its log, as its"
                    " regular expression has it; those that did: distance."
                )

    go(story())


def test_the_same_seed_gives_the_same_trials(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            tried = []
            for name, seed in (("one", 1), ("again", 1), ("other", 2)):
                asked = config(1, RandomSeed=seed)
                send(sagemaker, asked, definition(sagemaker), name)
                await end(sagemaker, name)
                tried.append([one["TunedHyperParameters"] for one in trials(sagemaker, name)])
            assert tried[0] == tried[1] != tried[2]

    go(story())


# Says n times how far the rate is from 3, with pauses; the further away, the longer it would take.
SLOWLY = """
import sys, time
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
distance = abs(float(words["--rate"]) - 3)
for epoch in range(int(words["--epochs"])):
    print("distance =", distance, flush=True)
    time.sleep(60 if epoch and distance > 4 else 0)
"""


def test_early_stopping_ends_a_training_job_that_is_worse_than_the_others(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            ranges = {"CategoricalParameterRanges": RATES}
            asked = config(4, ranges, Strategy="Grid", TrainingJobEarlyStoppingType="Auto")
            asked["ResourceLimits"]["MaxParallelTrainingJobs"] = 1
            send(sagemaker, asked, definition(sagemaker, SLOWLY))
            study = await end(sagemaker)
            assert study["HyperParameterTuningJobStatus"] == "Completed"
            every = trials(sagemaker)
            assert [trial["TrainingJobStatus"] for trial in every] == [
                "Completed", "Completed", "Completed", "Stopped",
            ]  # fmt: skip
            assert [value(trial) for trial in every] == [0, 1, 2, 6]
            assert study["TrainingJobStatusCounters"]["Stopped"] == 1
            assert study["ObjectiveStatusCounters"]["Succeeded"] == 4

    go(story())


@pytest.mark.slow
def test_hyperband_ends_what_is_not_among_the_best_third(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            resource = {"HyperbandStrategyConfig": {"MinResource": 2, "MaxResource": 5}}
            asked = config(6, Strategy="Hyperband", StrategyConfig=resource)
            script = SLOWLY.replace("60 if epoch and distance > 4 else 0", "0.3")
            wanted = definition(sagemaker, script, static={"epochs": "100"})
            send(sagemaker, asked, wanted)
            study = await end(sagemaker)
            assert study["HyperParameterTuningJobStatus"] == "Completed"
            assert study["TrainingJobStatusCounters"]["Stopped"] == 6
            every = sorted(trials(sagemaker), key=value)
            said = [sagemaker.log(trial["TrainingJobName"]).count("distance =") for trial in every]
            assert said[0] >= 5  # the best trained for as long as MaxResource says
            assert min(said) < 5

    go(story())


def test_a_warm_start_goes_on_where_its_parent_ended(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            send(sagemaker, config(12, Strategy="Random"), definition(sagemaker), "parent")
            parent = await end(sagemaker, "parent")
            narrow = {"ContinuousParameterRanges": [RATE | {"MinValue": "2", "MaxValue": "6"}]}
            asked = config(1, narrow, RandomSeed=5)
            send(sagemaker, asked, definition(sagemaker), "child", WarmStartConfig=WARM)
            child = await end(sagemaker, "child")
            assert child["WarmStartConfig"] == WARM
            overall = child["OverallBestTrainingJob"]
            assert value(overall) == min(map(value, (parent[BEST], child[BEST])))
            assert overall["TuningJobName"] in ("parent", "child")
            # Where it begins is chosen by what is known, not by chance.
            known = sagemaker.studies.get("child").spec.earlier
            assert 3 <= len(known) <= 12
            assert all(2 <= float(one.values["rate"]) <= 6 for one in known)
            send(sagemaker, asked, definition(sagemaker), "cold")
            await end(sagemaker, "cold")
            (warm,), (cold,) = trials(sagemaker, "child"), trials(sagemaker, "cold")
            assert warm["TunedHyperParameters"] != cold["TunedHyperParameters"]
            sagemaker("DeleteHyperParameterTuningJob", HyperParameterTuningJobName="parent")
            sagemaker("DescribeHyperParameterTuningJob", HyperParameterTuningJobName="child")

    go(story())
