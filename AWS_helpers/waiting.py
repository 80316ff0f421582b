"""Wait for what was sent to Amazon, and fetch its results."""

from __future__ import annotations

from typing import Any, overload

from AWS_helpers import describe
from lesson.jobs import waiting
from lesson.jobs.runs import Run
from lesson.jobs.studies import Study


@overload
def wait(run_or_job: Run) -> Run: ...
@overload
def wait(run_or_job: Study) -> Study: ...
@overload
def wait(run_or_job: Any) -> Any: ...
def wait(run_or_job: Any) -> Run | Study:
    """Show how far a job is until it ends, and fetch its results; return the completed run.

    Takes what train() or train_on_vm() returned, an SDK object, or a job's name; of what tune()
    returned, or a tuning job, it shows the trials and returns the study. Interrupting it leaves
    the job running; call it again to watch the job again. Raises LessonError if the job fails.
    """
    return waiting.wait(describe.cloud(), run_or_job)
