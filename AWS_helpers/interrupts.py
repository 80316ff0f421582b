"""Let an interrupt of the SDK's own `trainer.train()` or `tuner.tune()` be noticed.

The SDK loses it: these methods return from a `finally` (sagemaker/core/telemetry/
telemetry_logging.py), which drops a KeyboardInterrupt, so that the cell ends as if the job had
ended. Of exceptions, which it keeps, it raises what our LessonError says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lesson import LessonError
from lesson.jobs.sending import still_runs


def report_interrupts() -> None:
    """Have the SDK's own waits for a job raise LessonError when they are interrupted."""
    from sagemaker.core.resources import HyperParameterTuningJob, TrainingJob

    for kind in (TrainingJob, HyperParameterTuningJob):
        if not hasattr(kind.wait, "__wrapped_for_interrupts__"):
            kind.wait = _report_interrupts(kind.wait)


def _report_interrupts(wait: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(wait)
    def reporting(job: Any, *arguments: Any, **more: Any) -> Any:
        try:
            return wait(job, *arguments, **more)
        except KeyboardInterrupt:
            raise LessonError(still_runs(job.get_name(), "AWS_helpers")) from None

    vars(reporting)["__wrapped_for_interrupts__"] = True
    return reporting
