"""What is read from a job and from its log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from AWS_helpers import train
from AWS_helpers.describe import SageMaker
from AWS_helpers.failures import essence, last_words
from AWS_helpers.logs import Log
from AWS_helpers.session import Session
from AWS_helpers.states import STAGES, STATES

SERVICE = SageMaker(Session("local", "role", "us-east-1", "b"))

DRIVER = """AlgorithmError: Traceback (most recent call last):
  File "basic_script_driver.py", line 81, in <module>
subprocess.CalledProcessError: Command 'python train_nn.py' returned 2., exit code: 2"""


def test_jobs_that_others_sent_in_other_ways_are_described_too() -> None:
    """An account's list has them: local-cloud/tests/test_sagemaker_2.py sends one of the second."""
    from sagemaker.core import shapes
    from sagemaker.core.resources import HyperParameterTuningJob, TrainingJob

    places: Any = {"output_data_config": shapes.OutputDataConfig(s3_output_path="s3://b/runs")}
    two: Any = {"instance_count": 2, "volume_size_in_gb": 30}
    groups = [
        shapes.InstanceGroup(instance_type=kind, instance_count=2, instance_group_name=kind)
        for kind in ("ml.m5.large", "ml.g5.xlarge")
    ]
    mixed = shapes.ResourceConfig(volume_size_in_gb=30, instance_groups=groups)
    job = TrainingJob(training_job_name="mixed", resource_config=mixed, **places)
    spec = SERVICE.spec(job)
    assert (str(spec), spec.replicas) == ("ml.m5.large and ml.g5.xlarge", 4)
    assert spec.output == "s3://b/runs/mixed/output/model.tar.gz"

    job = TrainingJob(training_job_name="serverless", **places)
    assert (SERVICE.spec(job).machine, SERVICE.spec(job).replicas) == ("serverless", 0)

    kinds = [
        shapes.HyperParameterTuningInstanceConfig(instance_type=kind, **two)
        for kind in ("ml.c5.xlarge", "ml.m5.large")
    ]
    for resources, machine in (({"instance_type": "ml.m5.large", **two}, "ml.m5.large"),
                               ({"instance_configs": kinds}, "ml.c5.xlarge")):  # fmt: skip
        each = shapes.HyperParameterTrainingJobDefinition(
            algorithm_specification=shapes.HyperParameterAlgorithmSpecification(
                training_input_mode="File"
            ),
            role_arn="arn:aws:iam::000000000000:role/r",
            stopping_condition=shapes.StoppingCondition(max_runtime_in_seconds=60),
            hyper_parameter_tuning_resource_config=shapes.HyperParameterTuningResourceConfig(
                **resources
            ),
            **places,
        )
        for field in ({"training_job_definition": each}, {"training_job_definitions": [each]}):
            tuning = HyperParameterTuningJob(hyper_parameter_tuning_job_name="theirs", **field)
            spec = SERVICE.spec(tuning)
            assert (spec.machine, spec.replicas, spec.base) == (machine, 2, "s3://b/runs")


@pytest.mark.parametrize(
    ("status", "detail", "ours"),
    [("InProgress", "Pending", "queued"), ("InProgress", "Downloading", "starting"),
     ("InProgress", "Training", "running"), ("InProgress", "Interrupted", "queued"),
     ("InProgress", "Uploading", "running"), ("Completed", "Completed", "succeeded"),
     ("Failed", "Failed", "failed"), ("Stopping", "Stopping", "cancelling"),
     ("Stopped", "MaxRuntimeExceeded", "cancelled"), ("InProgress", None, "running")],
)  # fmt: skip
def test_a_state_is_one_of_ours_beside_the_services_word(
    status: str, detail: str | None, ours: str
) -> None:
    from sagemaker.core.resources import TrainingJob

    fields = {"secondary_status": detail} if detail else {}
    then = datetime(2026, 11, 22, tzinfo=UTC)
    job = TrainingJob(
        training_job_name="j", training_job_status=status, creation_time=then,
        last_modified_time=then, **fields,
    )  # fmt: skip
    shown = SERVICE.status(job)
    assert (shown.state, shown.word, shown.service_state) == (ours, detail or status, status)


def test_every_state_that_the_service_has_is_one_of_ours() -> None:
    model = client_of("sagemaker")
    states = model.shape_for("TrainingJobStatus").enum
    states += model.shape_for("HyperParameterTuningJobStatus").enum
    assert set(states) <= set(STATES)
    assert set(STAGES) <= set(model.shape_for("SecondaryStatus").enum)


def client_of(service: str) -> Any:
    """botocore's description of a service."""
    from botocore.loaders import Loader
    from botocore.model import ServiceModel

    return ServiceModel(Loader().load_service_model(service, "service-2"))


TOOLKIT = """AlgorithmError: ExecuteUserScriptError:
ExitCode 1
ErrorMessage ":Traceback (most recent call last):
   File "train_nn.py", line 1
 ValueError: mine"
Command "python train_nn.py --epochs 3", exit code: 1"""


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (DRIVER, "AlgorithmError, exit code: 2"),
        (TOOLKIT, "AlgorithmError: ExecuteUserScriptError: ValueError: mine, exit code: 1"),
        ("AlgorithmError: train_nn.py: no flag, exit code: 2",
         "AlgorithmError: train_nn.py: no flag, exit code: 2"),
        ("CapacityError: Unable to provision requested ML compute capacity.",
         "CapacityError: Unable to provision requested ML compute capacity"),
    ],
)  # fmt: skip
def test_a_reason_is_told_without_the_lines_of_the_drivers_traceback(
    reason: str, said: str
) -> None:
    assert essence(reason) == said


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["epoch 1", "train_nn.py: --train x: no such file", "Traceback (most recent call last):",
          "  File", "CalledProcessError: 2"], "train_nn.py: --train x: no such file"),
        (["Traceback (most recent call last):", "  File", "", "ValueError: mine",
          "Traceback (most recent call last):", "  File", "CalledProcessError: 1"],
         "ValueError: mine"),
        (["Traceback (most recent call last):", 'File "train_nn.py", line 1', "raise mine",
          "ValueError: mine", "Command failed with exit code 1."], "ValueError: mine"),
        (["Traceback (most recent call last):", "  File", "Mine: no name of Python's"],
         "Mine: no name of Python's"),
        (["epoch 1", "Killed"], None),
        ([], None),
    ],
)  # fmt: skip
def test_the_scripts_own_last_words_are_found_before_those_of_the_driver(
    lines: list[str], said: str | None
) -> None:
    assert last_words(lines) == said


def test_a_log_is_read_on_from_where_it_was_left(connection: Session, data: dict[str, str]) -> None:
    run = train({**data, "epochs": 3})
    log = SageMaker(connection).log_of(run.job)
    whole = log.news()
    assert [line for line in whole if line.startswith("epoch     3")]
    assert len(log.news()) < len(whole)


def test_a_job_that_never_ran_has_no_log(connection: Session) -> None:
    assert Log(connection.client("logs"), "never").news() == []
