"""Hyperparameter tuning jobs: each trial a training job that really runs."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from local_cloud.client import control
from local_cloud.client.control import Status
from local_cloud.engine import system
from local_cloud.engine.warm import fork_server
from tests.amazon.sagemaker.support import Refusal, go, packed, running
from tests.amazon.sagemaker.test_sdk import BUCKET as SDK_BUCKET
from tests.amazon.sagemaker.test_sdk import sdk
from tests.amazon.sagemaker.tuning.tuning_jobs import (
    DISTANCE,
    NAME,
    TRIAL,
    config,
    definition,
    end,
    send,
    trials,
    value,
)

__all__ = ["sdk"]


@pytest.fixture(autouse=True)
def lighter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials are forked from a process without torch, which is ready sooner."""
    monkeypatch.setattr(fork_server, "FREE", 0)  # whatever else this machine does
    monkeypatch.setattr(fork_server, "IMPORTED", ("numpy",))


def test_every_trial_is_a_training_job_with_its_own_values_and_folders(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            send(sagemaker, config(), definition(sagemaker), Tags=[{"Key": "a", "Value": "b"}])
            study = await end(sagemaker)
            assert study["HyperParameterTuningJobStatus"] == "Completed"
            assert study["TrainingJobStatusCounters"] == {
                "Completed": 4, "InProgress": 0, "RetryableError": 0, "NonRetryableError": 0,
                "Stopped": 0,
            }  # fmt: skip
            assert study["ObjectiveStatusCounters"] == {"Succeeded": 4, "Pending": 0, "Failed": 0}
            every = trials(sagemaker)
            assert study["BestTrainingJob"] == min(every, key=value)
            for number, trial in enumerate(every, 1):
                name = trial["TrainingJobName"]
                assert re.fullmatch(f"tuned-00{number}-[0-9a-f]{{8}}", name)
                x = trial["TunedHyperParameters"]["rate"]
                assert value(trial) == pytest.approx(abs(float(x) - 3))
                model = sagemaker.archive(f"out/{name}/output/model.tar.gz")
                seen = json.loads(model["seen.json"])
                # The toolkit keeps the name of the metric from the script's arguments.
                assert {word for word in seen if word.startswith("--")} == {"--rate", "--epochs"}
                assert (seen["--rate"], seen["--epochs"]) == (x, "5")
                assert seen["all"]["_tuning_objective_metric"] == "distance"
                job = sagemaker("DescribeTrainingJob", TrainingJobName=name)
                assert job["TuningJobArn"] == study["HyperParameterTuningJobArn"]
                assert job["HyperParameters"] == seen["all"]
                tags = sagemaker("ListTags", ResourceArn=job["TrainingJobArn"])["Tags"]
                assert tags == [{"Key": "a", "Value": "b"}]

    go(story())


# What a script may know of itself, but for what differs from one job to the next.
TELLS = """
import json, os, sys
forked = "numpy" in sys.modules
with open("/opt/ml/model/seen.json", "w") as file:
    names = sorted(name for name in os.environ if name.startswith(("SM_", "SAGEMAKER_", "MASTER_")))
    open_files = sorted(os.listdir("/proc/self/fd"))
    json.dump([names, sys.argv[0], os.getcwd(), sys.path[:2], __name__, sys.stdin.read(),
               open_files], file)
print("distance = 1", "forked" if forked else "started")
if False:
    import torch
"""


@pytest.mark.skipif(not system.LINUX, reason="forks on Linux only")
def test_the_script_of_a_trial_is_forked_and_finds_what_that_of_a_training_job_does(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            wanted = definition(sagemaker, TELLS, static={"rate": "1"})
            alone = {name: wanted[name] for name in wanted if name != "StaticHyperParameters"}
            alone |= {
                "TrainingJobName": "alone",
                "Environment": {"TORCH_LOGS": ""},  # is read early, so it starts cold
                "HyperParameters": wanted["StaticHyperParameters"],
            }
            sagemaker("CreateTrainingJob", **alone)
            await sagemaker.end("alone")
            send(sagemaker, config(1), definition(sagemaker, TELLS))
            await end(sagemaker)
            (trial,) = trials(sagemaker)
            environments = []
            for name, how in (("alone", "started"), (trial["TrainingJobName"], "forked")):
                assert f"distance = 1 {how}" in sagemaker.engine.log(name, "algo-1").read_text(
                    encoding="utf-8"
                )
                model = sagemaker.archive(f"out/{name}/output/model.tar.gz")
                environments.append(json.loads(model["seen.json"]))
            assert environments[0] == environments[1]

    go(story())


def test_trials_that_crash_do_not_end_a_tuning_job(tmp_path: Path) -> None:
    script = (
        f"import os, sys\nif '-00' + '2-' in os.environ['TRAINING_JOB_NAME']: sys.exit(7)\n{TRIAL}"
    )

    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            send(sagemaker, config(), definition(sagemaker, script))
            study = await end(sagemaker)
            assert study["HyperParameterTuningJobStatus"] == "Completed"
            assert study["TrainingJobStatusCounters"]["NonRetryableError"] == 1
            assert study["ObjectiveStatusCounters"] == {"Succeeded": 3, "Pending": 0, "Failed": 1}
            (failed,) = trials(sagemaker, StatusEquals="Failed")
            assert "ExitCode 7" in failed["FailureReason"]
            assert failed["ObjectiveStatus"] == "Failed"
            by_value = trials(sagemaker, SortBy="FinalObjectiveMetricValue")
            assert [value(trial) for trial in by_value] == sorted(map(value, by_value))
            assert len(by_value) == 3

    go(story())


def test_a_stopped_tuning_job_stops_its_trials(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            send(sagemaker, config(), definition(sagemaker, "import time; time.sleep(600)"))
            studies = sagemaker.studies
            while len(studies.get("tuned").trials) < 2:
                await studies.wait_for_change(studies.get("tuned"), 20)
            with pytest.raises(Refusal, match="stop it first"):
                sagemaker("DeleteHyperParameterTuningJob", **NAME)
            sagemaker("StopHyperParameterTuningJob", **NAME)
            study = await end(sagemaker)
            assert study["HyperParameterTuningJobStatus"] == "Stopped"
            assert study["TrainingJobStatusCounters"]["Stopped"] == 2
            (trial, _) = trials(sagemaker)
            assert trial["FailureReason"].startswith("The training job was stopped and did not")
            with pytest.raises(Refusal, match="is in status Stopped"):
                sagemaker("StopHyperParameterTuningJob", **NAME)
            name = {"TrainingJobName": trial["TrainingJobName"]}
            with pytest.raises(Refusal, match="belongs to a tuning job; delete that first"):
                sagemaker("DeleteTrainingJob", **name)
            sagemaker("DeleteHyperParameterTuningJob", **NAME)
            with pytest.raises(Refusal) as gone:
                sagemaker("DescribeHyperParameterTuningJob", **NAME)
            assert gone.value.code == "ResourceNotFound"
            sagemaker("DescribeTrainingJob", **name)  # those stay
            sagemaker("DeleteTrainingJob", **name)

    go(story())


def test_tuning_jobs_are_listed(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            for name in ("second", "first"):
                send(sagemaker, config(1), definition(sagemaker), name)
                await end(sagemaker, name)
            every = sagemaker("ListHyperParameterTuningJobs")["HyperParameterTuningJobSummaries"]
            names = [one["HyperParameterTuningJobName"] for one in every]
            assert names == ["first", "second"]
            assert every[0]["ResourceLimits"]["MaxNumberOfTrainingJobs"] == 1
            page = sagemaker("ListHyperParameterTuningJobs", MaxResults=1, SortBy="CreationTime")
            (one,) = page["HyperParameterTuningJobSummaries"]
            assert one["HyperParameterTuningJobName"] == "second" and page["NextToken"]

    go(story())


def tuner(sdk: SimpleNamespace, folder: Path, script: str, **options: Any) -> Any:
    """The SDK's tuner of a script task.py, which minimises the distance of the rate from 3."""
    from sagemaker.core.parameter import ContinuousParameter
    from sagemaker.train.tuner import HyperparameterTuner

    from tests.amazon.sagemaker.test_sdk import trainer

    return HyperparameterTuner(
        model_trainer=trainer(sdk, folder, script, hyperparameters={"epochs": 5}),
        objective_metric_name="distance",
        metric_definitions=[DISTANCE],
        objective_type="Minimize",
        **{
            "hyperparameter_ranges": {"rate": ContinuousParameter(0, 10)},
            "max_jobs": 2,
            "max_parallel_jobs": 2,
        }
        | options,
    )


@pytest.mark.slow  # notebook 12 has it too
@pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")
def test_the_sdks_tuner(sdk: SimpleNamespace, tmp_path: Path) -> None:
    ours = tuner(sdk, tmp_path, TRIAL)
    ours.tune(wait=False)
    ours.latest_tuning_job.wait(poll=1)
    job = ours.latest_tuning_job
    assert job.hyper_parameter_tuning_job_status == "Completed"
    assert job.objective_status_counters.succeeded == 2
    best = ours.best_training_job()
    assert best == job.best_training_job.training_job_name
    best_job = sdk.TrainingJob.get(best)
    assert best_job.tuning_job_arn == job.hyper_parameter_tuning_job_arn
    final = job.best_training_job.final_hyper_parameter_tuning_job_objective_metric
    x = float(best_job.hyper_parameters["rate"])
    assert (final.metric_name, final.value) == ("distance", pytest.approx(abs(x - 3)))
    listed = list(job.get_all_training_jobs())
    assert len(listed) == 2


def memory(pid: int) -> float:
    """MiB of a process that lie in memory."""
    return float(psutil.Process(pid).memory_info().rss) / 2**20


@pytest.mark.slow
def test_two_hundred_trials_at_once_all_end_and_the_servers_memory_stays_flat(
    sdk: SimpleNamespace, cloud: Status
) -> None:
    """All are sent at once, as the service would if it were allowed to, and wait for their turn."""
    code = packed({"task.sh": "echo distance = $((RANDOM % 100))"})
    sdk.s3.put_object(Bucket=SDK_BUCKET, Key="code.tar.gz", Body=code)
    wanted = definition(SimpleNamespace(put=lambda key, body: f"s3://{SDK_BUCKET}/{key}"))  # type: ignore[arg-type]
    wanted["StaticHyperParameters"]["sagemaker_program"] = "task.sh"
    wanted["OutputDataConfig"] = {"S3OutputPath": f"s3://{SDK_BUCKET}/out"}
    limits = {"MaxNumberOfTrainingJobs": 200, "MaxParallelTrainingJobs": 200}
    sdk.sagemaker.create_hyper_parameter_tuning_job(
        HyperParameterTuningJobName="many",
        HyperParameterTuningJobConfig=config(ResourceLimits=limits),
        TrainingJobDefinition=wanted,
    )
    pid, seen = control.status(cloud.home).facts["pid"], dict[int, float]()
    while True:
        study = sdk.sagemaker.describe_hyper_parameter_tuning_job(
            HyperParameterTuningJobName="many"
        )
        counters = study["TrainingJobStatusCounters"]
        seen[counters["Completed"]] = memory(pid)
        if study["HyperParameterTuningJobStatus"] != "InProgress":
            break
        time.sleep(0.5)
    assert study["HyperParameterTuningJobStatus"] == "Completed"
    assert counters["Completed"] == study["ObjectiveStatusCounters"]["Succeeded"] == 200
    early = next(size for ended, size in seen.items() if ended >= 20)
    print({ended: round(size) for ended, size in seen.items()})
    assert seen[200] < early + 20, seen
