"""HyperparameterTuningJob: a trial without prospects is stopped early."""

from __future__ import annotations

from types import ModuleType

import pytest
from google.cloud.aiplatform import hyperparameter_tuning as hpt

from tests.google.vertex.tuning.test_tuning import changed, final, tuning_job, wait_for

# Reports as many times as it is asked to, and much longer and slower where x is more than 6.
SLOWLY = """
import argparse, json, os, time
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
parser.add_argument("--x", type=float)
flags = parser.parse_args()
for step in range(1, (flags.epochs if flags.x < 6 else 300) + 1):
    line = {"timestamp": time.time(), "trial": os.environ["CLOUD_ML_TRIAL_ID"],
            TAG: str(flags.x + 1 / step), "global_step": str(step), "checkpoint_path": ""}
    with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "a") as file:
        file.write(json.dumps(line) + "\\n")
    time.sleep(0 if flags.x < 6 else 0.2)
"""


@pytest.mark.parametrize("rule", ["medianAutomatedStoppingSpec", "decayCurveStoppingSpec"])
@pytest.mark.parametrize("by_time", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_trial_without_prospects_is_stopped_early(
    aiplatform: ModuleType, rule: str, by_time: bool
) -> None:
    space = {"x": hpt.DiscreteParameterSpec(values=[1, 2, 3, 4, 9], scale=None)}
    options = {"search_algorithm": "grid", "parallel_trial_count": 1}
    job = tuning_job(aiplatform, space, trials=5, code=SLOWLY, **options)
    job = changed(job, {"studySpec": {rule: {"useElapsedDuration": by_time}}})
    wait_for(lambda: ended(aiplatform, job))
    job_ended = aiplatform.HyperparameterTuningJob.get(job)
    assert job_ended.state.name == "JOB_STATE_SUCCEEDED"
    # One that is stopped early has a result, which is why it is no failure.
    assert [trial.state.name for trial in job_ended.trials] == ["SUCCEEDED"] * 5
    states = [aiplatform.CustomJob.get(trial.custom_job).state.name for trial in job_ended.trials]
    assert states == ["JOB_STATE_SUCCEEDED"] * 4 + ["JOB_STATE_CANCELLED"]
    assert [final(trial) for trial in job_ended.trials[:4]] == [1.2, 2.2, 3.2, 4.2]
    assert 9 < final(job_ended.trials[4]) <= 10


def ended(aiplatform: ModuleType, name: str) -> bool:
    state = aiplatform.HyperparameterTuningJob.get(name).state.name
    return state in ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED")
