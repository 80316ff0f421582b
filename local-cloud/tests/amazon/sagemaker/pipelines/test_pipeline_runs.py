"""Executions that reuse results, tune, run side by side, and go on after a kill."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from typing import Any

import boto3

from local_cloud.client import control
from local_cloud.client.environment import environment
from local_cloud.client.home import Home
from tests.amazon.sagemaker.pipelines.pipeline_definitions import (
    BUCKET,
    OUT,
    ended,
    get,
    make,
    processing,
    start,
    steps,
    text,
    tuning,
)
from tests.amazon.sagemaker.pipelines.test_pipelines import WHOLE
from tests.amazon.sagemaker.pipelines.test_pipelines import client as client


def test_a_result_is_used_again_by_the_same_arguments_alone(client: Any) -> None:
    name = make(client, WHOLE)
    first = start(client, name)
    ended(client, first)
    again, other = start(client, name, Epochs="6"), start(client, name, Accuracy="0.9")
    ended(client, again)
    ended(client, other)
    source, used = (steps(client, one)["prepare"] for one in (first, again))
    assert used["CacheHitResult"] == {"SourcePipelineExecutionArn": first}
    assert used["Metadata"] == source["Metadata"]
    assert "CacheHitResult" not in steps(client, other)["prepare"]
    assert "CacheHitResult" not in steps(client, again)["train"]  # it does not ask for it


TRIES = """
import json
told = json.load(open("/opt/ml/input/config/hyperparameters.json"))
open("/opt/ml/model/rate.txt", "w").write(told["rate"])
print("distance =", abs(int(told["rate"]) - 2))
"""


def test_a_tuning_step_hands_on_its_best_model(client: Any) -> None:
    """As `TuningStep.get_top_model_s3_uri` of the SDK names it."""
    best = get("Steps.search.TrainingJobSummaries[0].TrainingJobName")
    says = "import sys; open(sys.argv[3], 'w').write(' '.join(sys.argv[1:3]))"
    names = (get("Steps.search.BestTrainingJob.TrainingJobName"), best, f"{OUT}/best.txt")
    definition = text(tuning("search", TRIES), processing("say", says, *names))
    execution = start(client, make(client, definition))
    ended(client, execution)
    arn = steps(client, execution)["search"]["Metadata"]["TuningJob"]["Arn"]
    job = client.describe_hyper_parameter_tuning_job(
        HyperParameterTuningJobName=arn.rpartition("/")[2]
    )
    assert job["HyperParameterTuningJobStatus"] == "Completed"
    winner = job["BestTrainingJob"]
    assert winner["TunedHyperParameters"] == {"rate": "2"}
    key = f"{execution.rpartition('/')[2]}/say/best.txt"
    said = boto3.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read().decode()
    assert said.split() == [winner["TrainingJobName"]] * 2


def test_as_many_steps_run_as_are_allowed(client: Any) -> None:
    made = text(*(processing(name, "") for name in ("a", "b", "c")))
    name = make(client, made, ParallelismConfiguration={"MaxParallelExecutionSteps": 1})
    execution = start(client, name)
    ended(client, execution)
    one, two, three = steps(client, execution).values()
    assert one["EndTime"] <= two["StartTime"] and two["EndTime"] <= three["StartTime"]


def clients(home: Home) -> Mapping[str, Any]:
    """boto3's clients of the local cloud in this home."""
    variables = environment(home, int(home.address()["port"]))
    known = {
        "endpoint_url": variables["AWS_ENDPOINT_URL"],
        "aws_access_key_id": variables["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": variables["AWS_SECRET_ACCESS_KEY"],
        "region_name": "us-east-1",
    }
    return {name: boto3.client(name, **known) for name in ("s3", "sagemaker")}


def test_after_a_kill_the_execution_goes_on_and_repeats_no_finished_step(own: Home) -> None:
    """The step that ran when the server was killed is sent again; the one before is not."""
    waits = f"""
import boto3, time
s3 = boto3.client("s3")
known = s3.list_objects_v2(Bucket={BUCKET!r}, Prefix="begun")["KeyCount"]
s3.put_object(Bucket={BUCKET!r}, Key="begun")
time.sleep(0 if known else 600)
"""
    made = text(processing("first", ""), processing("second", waits, DependsOn=["first"]))
    here = clients(own)
    here["s3"].create_bucket(Bucket=BUCKET)
    execution = start(here["sagemaker"], make(here["sagemaker"], made))
    while "second" not in (before := steps(here["sagemaker"], execution)):
        time.sleep(0.02)
    while not here["s3"].list_objects_v2(Bucket=BUCKET, Prefix="begun")["KeyCount"]:
        time.sleep(0.02)
    os.kill(int(own.address()["pid"]), signal.SIGKILL)
    control.start(own)
    client = clients(own)["sagemaker"]
    ended(client, execution)
    after = steps(client, execution)
    assert after["first"] == before["first"] | {
        key: after["first"][key] for key in ("StepStatus", "EndTime")
    }
    assert (after["first"]["AttemptCount"], after["second"]["AttemptCount"]) == (1, 2)
    listed = client.list_processing_jobs()["ProcessingJobSummaries"]
    assert sorted(job["ProcessingJobStatus"] for job in listed) == [
        "Completed", "Completed", "Failed",
    ]  # fmt: skip
