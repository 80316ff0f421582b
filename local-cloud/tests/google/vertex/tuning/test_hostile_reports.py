"""HyperparameterTuningJob: whatever a trial writes as its reports, the study goes on."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.google.vertex.tuning.test_tuning import TRIAL, X, tuning_job


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (
            rb'{"distance": "far"}',
            "The metric distance was reported, but never as a finite number.",
        ),
        (b'{"distance": 1' + b"0" * 400 + b"}", "The metric distance was reported, but never"),
        (rb'{"distance": 1, "global_step": Infinity}', "No metric of the tag distance"),
        (b"\xff\xfe", "No metric of the tag distance was reported; none arrived at all."),
        (b"[" * 100_000, "No metric of the tag distance was reported; none arrived at all."),
        (None, "No metric of the tag distance was reported; none arrived at all."),
    ],
    ids=["text", "huge", "step", "bytes", "deep", "folder"],
)
def test_whatever_a_trial_writes_as_its_reports_the_study_goes_on(
    aiplatform: ModuleType, written: bytes | None, reason: str
) -> None:
    size = f"b'[' * {len(written)}" if written and len(written) > 1000 else repr(written)
    code = f"""
import os
if os.environ["CLOUD_ML_TRIAL_ID"] == "2":
    {TRIAL.replace(chr(10), chr(10) + "    ")}
elif {written is None}:
    os.mkdir(os.environ["CLOUD_ML_HP_METRIC_FILE"])
else:
    open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "wb").write({size})
"""
    job = tuning_job(aiplatform, X, trials=2, code=code, parallel_trial_count=1)
    job.run()
    assert [trial.state.name for trial in job.trials] == ["INFEASIBLE", "SUCCEEDED"]
    assert job.trials[0].infeasible_reason.startswith(reason)
