"""What is read from a job, and from its results while it writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from GCP_helpers.describe import VertexAI
from GCP_helpers.session import Session
from GCP_helpers.states import STATES, TRIALS
from lesson.jobs.spec import JobSpec

SERVICE = VertexAI(Session("local", "p", "us-central1", "b"))


def spec(**more: Any) -> JobSpec:
    usual = dict(machine="n1-standard-4", replicas=1, gpu=None, gpu_count=0, spot=False)
    return JobSpec(**{**usual, "name": "j", "flags": {}, "base": "", "output": "", **more})


def test_the_machine_is_described_as_the_table_shows_it() -> None:
    gpus = spec(machine="n1-standard-8", gpu="NVIDIA_TESLA_T4", gpu_count=2, spot=True)
    assert str(spec()) == "n1-standard-4"
    assert str(gpus) == "n1-standard-8 + 2 × NVIDIA_TESLA_T4, spot"


def test_worker_pools_of_different_machines_are_named_each() -> None:
    from google.cloud.aiplatform_v1.types import CustomJob, CustomJobSpec

    def asked(*pools: dict[str, Any]) -> JobSpec:
        specs = CustomJobSpec(worker_pool_specs=list(pools))
        resource = CustomJob(name="projects/p/locations/l/customJobs/1", job_spec=specs)
        job: Any = SimpleNamespace(
            resource_name=resource.name, gca_resource=resource, display_name="j"
        )
        return SERVICE.spec(job)

    def pool(machine: str, replicas: int, **gpu: Any) -> dict[str, Any]:
        return {"machine_spec": {"machine_type": machine, **gpu}, "replica_count": replicas}

    gpu = {"accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1}
    small = pool("n1-standard-4", 2)
    alike = asked(pool("n1-standard-4", 1), small)
    assert (str(alike), alike.replicas) == ("n1-standard-4", 3)
    mixed = asked(pool("n1-standard-8", 1, **gpu), {}, small)
    assert str(mixed) == "1 × n1-standard-8 + 1 × NVIDIA_TESLA_T4 and 2 × n1-standard-4"
    assert mixed.replicas == 3 and mixed.gpu is None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "The replica workerpool0-0 exited with a non-zero status of 1. "
            "Termination reason: Error. \nTraceback (most recent call last):\n"
            '  File "task.py", line 1, in <module>\n    1 / 0\n'
            "ZeroDivisionError: division by zero\n\nTo find out more about why your job exited "
            "please check the logs: https://console.cloud.google.com/logs/viewer?x=1",
            "The replica workerpool0-0 exited with a non-zero status of 1. "
            "Its last line: ZeroDivisionError: division by zero. To find out more about why your "
            "job exited please check the logs: https://console.cloud.google.com/logs/viewer?x=1",
        ),
        ("The replica workerpool1-0 exited with a non-zero status of 137.", None),
        ("Resources are insufficient in region: us-central1.", None),
        ("", "the service gives no reason"),
    ],
)
def test_a_failure_is_told_without_the_inner_lines_of_a_traceback(
    message: str, said: str | None
) -> None:
    job: Any = SimpleNamespace(gca_resource=SimpleNamespace(error=SimpleNamespace(message=message)))
    assert SERVICE.failure_reason(job) == (said or message)


def test_every_state_that_the_service_has_is_one_of_ours() -> None:
    from google.cloud.aiplatform.gapic import JobState, PipelineState, Trial

    for kinds in (JobState, PipelineState):
        words = {str(each.name).rpartition("STATE_")[2] for each in kinds}
        assert words <= set(STATES)
    trials_words = {each.name for each in Trial.State} - {"STATE_UNSPECIFIED"}
    assert trials_words == set(TRIALS)


@pytest.mark.parametrize(
    ("word", "ours"),
    [("QUEUED", "queued"), ("PENDING", "starting"), ("RUNNING", "running"),
     ("CANCELLING", "cancelling"), ("CANCELLED", "cancelled"), ("EXPIRED", "failed")],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["PIPELINE", "JOB"])
def test_a_state_is_one_of_ours_beside_the_services_word(kind: str, word: str, ours: str) -> None:
    then = datetime(2026, 11, 22, tzinfo=UTC)
    seen = SimpleNamespace(
        state=SimpleNamespace(name=f"{kind}_STATE_{word}"),
        create_time=then, start_time=None, end_time=None,
    )  # fmt: skip
    job: Any = SimpleNamespace(gca_resource=seen, resource_name="projects/p/customJobs/1")
    status = SERVICE.status(job)
    assert (status.state, status.word, status.service_state) == (ours, word, seen.state.name)
