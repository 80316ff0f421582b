"""HyperparameterTuningJob: studies by the real SDK, each trial a custom job that really runs."""

from __future__ import annotations

import json
import math
import re
import time
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud.aiplatform import hyperparameter_tuning as hpt

from local_cloud.google.vertex.tuning.study_spec import seed
from tests.google.vertex.support import BUCKET, IMAGE, read

# Reports as cloudml-hypertune does: how far x is from 3, twice, the second time a little worse.
TRIAL = """
import argparse, json, os
parser = argparse.ArgumentParser()
parser.add_argument("--epochs")
parser.add_argument("--x", type=float)
flags, others = parser.parse_known_args()
lines = [{"timestamp": 1.0, "trial": os.environ["CLOUD_ML_TRIAL_ID"], TAG: str(value),
          "global_step": str(step), "checkpoint_path": ""}
         for step, value in enumerate((abs(flags.x - 3), abs(flags.x - 3) + 1), 1)]
with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "w") as file:
    file.write("".join(json.dumps(line) + "\\n" for line in lines))
if "AIP_MODEL_DIR" in os.environ:
    folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")
    os.makedirs(folder)
    with open(folder + "seen.json", "w") as file:
        json.dump({"epochs": flags.epochs, "x": flags.x, "others": others}, file)
"""
METRIC = {"metrics": [{"metricId": "distance", "goal": "MINIMIZE"}]}
BEGINS_AT_ONE = {"parameterId": "x", "doubleValueSpec": {"maxValue": 2, "defaultValue": 1}}
X = {"x": hpt.DoubleParameterSpec(min=0, max=10, scale="linear")}


def tuning_job(
    aiplatform: ModuleType, space: dict[str, Any], trials: int = 4, code: str = TRIAL,
    tag: str = "distance", goal: str = "minimize", base: str | None = None, **more: Any,
) -> Any:  # fmt: skip
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {
            "image_uri": IMAGE,
            "command": ["python", "-c", code.replace("TAG", repr("distance"))],
            "args": ["--epochs", "5"],
        },
    }
    custom_job = aiplatform.CustomJob(
        display_name="trial", worker_pool_specs=[pool], base_output_dir=base
    )
    return aiplatform.HyperparameterTuningJob(
        display_name="tuning", custom_job=custom_job, metric_spec={tag: goal},
        parameter_spec=space, max_trial_count=trials,
        **{"parallel_trial_count": 2} | more,
    )  # fmt: skip


def values(trial: Any) -> dict[str, Any]:
    return {parameter.parameter_id: parameter.value for parameter in trial.parameters}


def final(trial: Any) -> float:
    (metric,) = trial.final_measurement.metrics
    assert metric.metric_id == "distance"
    return float(metric.value)


def wait_for(true: Any) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_every_trial_is_run_with_its_own_values_and_in_its_own_folder(
    aiplatform: ModuleType,
) -> None:
    base = f"gs://{BUCKET}/tuned"
    job = tuning_job(aiplatform, X, base=base)
    job.run()
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert [trial.id for trial in job.trials] == ["1", "2", "3", "4"]
    for trial in job.trials:
        assert trial.state.name == "SUCCEEDED"
        assert final(trial) == pytest.approx(abs(values(trial)["x"] - 3))  # the better report
        assert trial.end_time >= trial.start_time
        seen = read(f"{base}/{trial.id}/model/seen.json")
        assert seen == {"epochs": "5", "x": pytest.approx(values(trial)["x"]), "others": []}
        backing = aiplatform.CustomJob.get(trial.custom_job)
        assert backing.state.name == "JOB_STATE_SUCCEEDED"
    assert len({values(trial)["x"] for trial in job.trials}) == 4
    with pytest.raises(exceptions.BadRequest, match=r"belongs to .*; delete that first"):
        backing.delete()
    job.delete()
    backing.delete()


def test_a_job_of_the_same_name_tries_the_same_again() -> None:
    """The name is the seed, in every process: engine/studies/test_search.py has what it means."""
    assert seed("tuning") == 2752791430 != seed("another")


def test_all_kinds_of_parameters_and_conditions_arrive_as_flags(aiplatform: ModuleType) -> None:
    momentum = hpt.DoubleParameterSpec(
        min=0.1, max=0.99, scale="reverse_log", parent_values=["sgd"]
    )
    optimiser = hpt.CategoricalParameterSpec(
        values=["adam", "sgd"], conditional_parameter_spec={"momentum": momentum}
    )
    space = X | {
        "width": hpt.IntegerParameterSpec(min=1, max=128, scale="log"),
        "batch_size": hpt.DiscreteParameterSpec(values=[16, 64], scale=None),
        "optimiser": optimiser,
    }
    base = f"gs://{BUCKET}/kinds"
    job = tuning_job(aiplatform, space, trials=8, base=base, search_algorithm="random")
    job.run()
    for trial in job.trials:
        tried = values(trial)
        others = read(f"{base}/{trial.id}/model/seen.json")["others"]
        assert f"--width={tried['width']:.0f}" in others and 1 <= tried["width"] <= 128
        assert f"--batch_size={tried['batch_size']:.0f}" in others
        assert f"--optimiser={tried['optimiser']}" in others
        assert ("momentum" in tried) == (tried["optimiser"] == "sgd")
    assert {values(trial)["optimiser"] for trial in job.trials} == {"adam", "sgd"}


def test_a_tag_that_never_arrives_makes_the_trial_infeasible_and_names_those_that_did(
    aiplatform: ModuleType,
) -> None:
    job = tuning_job(aiplatform, X, trials=2, tag="distanse")
    with pytest.raises(RuntimeError, match="2 of 2 trials failed"):
        job.run()
    assert job.state.name == "JOB_STATE_FAILED"
    for trial in job.trials:
        assert trial.state.name == "INFEASIBLE"
        assert trial.infeasible_reason == (
            "No metric of the tag distanse was reported; those that arrived: distance."
        )


def test_a_metric_that_is_no_number_makes_the_trial_infeasible(aiplatform: ModuleType) -> None:
    job = tuning_job(aiplatform, X, trials=1, code=TRIAL.replace("- 3)", "* float('nan'))"))
    with pytest.raises(RuntimeError, match="1 of 1 trials failed"):
        job.run()
    (trial,) = job.trials
    assert trial.infeasible_reason == (
        "The metric distance was reported, but never as a finite number."
    )


def test_trials_that_crash_end_a_study_at_the_limit(aiplatform: ModuleType) -> None:
    code = f"import os, sys\nif os.environ['CLOUD_ML_TRIAL_ID'] in '13': sys.exit(3)\n{TRIAL}"
    job = tuning_job(aiplatform, X, code=code, parallel_trial_count=1, max_failed_trial_count=2)
    with pytest.raises(RuntimeError, match="2 of 3 trials failed"):
        job.run()
    states = [trial.state.name for trial in job.trials]
    assert states == ["INFEASIBLE", "SUCCEEDED", "INFEASIBLE"]
    assert "exited with a non-zero status of 3" in job.trials[0].infeasible_reason


@pytest.mark.parametrize(("selection", "worse"), [("best", 0), ("last", 1), ("", 1)])
def test_the_best_or_the_last_report_counts(
    aiplatform: ModuleType, selection: str, worse: int
) -> None:
    job = tuning_job(aiplatform, X, trials=1, measurement_selection=selection or "best")
    if not selection:  # as of a client that does not say
        job._gca_resource.study_spec.measurement_selection_type = 0
    job.run()
    (trial,) = job.trials
    assert final(trial) == pytest.approx(abs(values(trial)["x"] - 3) + worse)
    assert trial.final_measurement.step_count == 2


def test_cancel_stops_the_trials_and_sends_no_more(aiplatform: ModuleType) -> None:
    job = tuning_job(aiplatform, X, code="import time; time.sleep(1000)", trials=9)
    job.run(sync=False)
    job.wait_for_resource_creation()
    wait_for(lambda: any(trial.state.name == "ACTIVE" for trial in job.trials))
    job.cancel()
    with pytest.raises(RuntimeError):
        job.wait()
    job = aiplatform.HyperparameterTuningJob.get(job.resource_name)
    assert job.state.name == "JOB_STATE_CANCELLED"
    assert 1 <= len(job.trials) <= 2
    job.delete()
    with pytest.raises(exceptions.NotFound):
        aiplatform.HyperparameterTuningJob.get(job.resource_name)


def changed(job: Any, change: dict[str, Any]) -> str:
    """Send the job with these changes, which the SDK has no arguments for; returns its name."""
    resource = job._gca_resource
    message = type(resource).to_json(resource, use_integers_for_enums=False)
    body = json.loads(message)
    body |= change | {"studySpec": body["studySpec"] | change.get("studySpec", {})}
    sent = job.api_client.create_hyperparameter_tuning_job(
        parent="projects/my-project/locations/us-central1",
        hyperparameter_tuning_job=type(resource).from_json(json.dumps(body)),
    )
    return str(sent.name)


@pytest.mark.parametrize(
    "change",
    [
        {"convexAutomatedStoppingSpec": {"maxStepCount": 9}},
        {"studyStoppingConfig": {"shouldStopAsap": True}},
        {"metrics": [{"metricId": name, "goal": "MINIMIZE"} for name in ("a", "b")]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_missing_is_refused_by_name(aiplatform: ModuleType, change: dict[str, Any]) -> None:
    words = f"not implemented in the local cloud: studySpec.{next(iter(change))}"
    with pytest.raises(exceptions.MethodNotImplemented, match=words):
        changed(tuning_job(aiplatform, X), {"studySpec": change})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"maxTrialCount": 0}, "maxTrialCount: 0; at least one trial is needed"),
        ({"studySpec": {}}, "studySpec.metrics: a metric is needed"),
        ({"displayName": ""}, "displayName: required"),
        (
            {"studySpec": METRIC | {"observationNoise": "LOW"}},
            "studySpec.observationNoise: not supported by HyperparameterTuningJob",
        ),
        (
            {"studySpec": METRIC | {"parameters": [BEGINS_AT_ONE]}},
            "x's defaultValue is not supported by HyperparameterTuningJob",
        ),
    ],
)
def test_a_request_that_cannot_be_used_is_refused_in_one_sentence(
    aiplatform: ModuleType, change: dict[str, Any], sentence: str
) -> None:
    job = tuning_job(aiplatform, X)
    client = job.api_client
    message = type(job._gca_resource).to_json(job._gca_resource, use_integers_for_enums=False)
    body = json.loads(message) | change
    parent = "projects/my-project/locations/us-central1"
    with pytest.raises(exceptions.BadRequest, match=sentence.replace(".", r"\.")):
        client.create_hyperparameter_tuning_job(
            parent=parent,
            hyperparameter_tuning_job=type(job._gca_resource).from_json(json.dumps(body)),
        )


KIND = hpt.CategoricalParameterSpec
INSIDE = hpt.DoubleParameterSpec(min=0, max=1, scale="linear", parent_values=["zoo"])
WHOLE = hpt.IntegerParameterSpec(min=1, max=9, scale="linear", parent_values=[7])


@pytest.mark.parametrize(
    ("space", "sentence"),
    [
        ({"a b": X["x"]}, "parameterId: 'a b' contains whitespace"),
        (
            {"x": hpt.DoubleParameterSpec(min=0, max=math.inf, scale="linear")},
            "x has no finite range from 0 to inf",
        ),
        (
            {"x": hpt.DoubleParameterSpec(min=-1.7e308, max=1.7e308, scale="linear")},
            "x has no finite range from -1.7e+308 to 1.7e+308",
        ),
        (
            {"kind": KIND(values=["adam"], conditional_parameter_spec={"y": INSIDE})},
            "parentCategoricalValues: kind never has zoo",
        ),
        (
            {
                "few": hpt.IntegerParameterSpec(
                    min=1, max=2, scale="linear", conditional_parameter_spec={"y": WHOLE}
                )
            },
            "parentIntValues: few never has 7",
        ),
        (
            {
                "x": hpt.DoubleParameterSpec(
                    min=0, max=1, scale="linear", conditional_parameter_spec={"y": WHOLE}
                )
            },
            "x is a double, and those have no conditional parameters",
        ),
    ],
    ids=["name", "infinite", "wide", "category", "whole", "double"],
)
def test_a_parameter_that_cannot_be_is_refused(
    aiplatform: ModuleType, space: dict[str, Any], sentence: str
) -> None:
    job = tuning_job(aiplatform, space)
    with pytest.raises(exceptions.BadRequest, match=re.escape(sentence)):
        job.run()
