"""Jobs with `tensorboard=` and `experiment=`: what they log is taken up."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import storage
from google.cloud.aiplatform import hyperparameter_tuning as hpt

from local_cloud.client.control import Status
from tests.google.vertex.support import BUCKET, IMAGE, Script

ACCOUNT = "trainer@my-project.iam.gserviceaccount.com"

# A curve of three points in the log folder itself and in one below it, as SummaryWriter writes it.
LOGS = """
import os, time
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
base = os.environ["AIP_TENSORBOARD_LOG_DIR"].replace("gs://", "/gcs/")
for folder in ("", "Fold 1/validation"):
    writer = EventFileWriter(os.path.join(base, folder))
    for step, loss in enumerate((1.0, 0.5, float("nan"))):
        value = Summary(value=[Summary.Value(tag="loss", simple_value=loss)])
        writer.add_event(Event(step=step, wall_time=1.7e9 + step, summary=value))
    writer.close()
open(os.path.join(base, "events.out.tfevents.broken"), "w").write("no events at all")
open(os.path.join(base, "notes.txt"), "w").write("none of ours")
"""


REPORT = """
import json
with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "w") as file:
    json.dump({"trial": os.environ["CLOUD_ML_TRIAL_ID"], "loss": "0.5", "global_step": "1"}, file)
"""


def custom_job(aiplatform: ModuleType, code: str, name: str, base: str | None = None) -> Any:
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": ["python", "-c", code], "args": []},
    }
    return aiplatform.CustomJob(name, [pool], base_output_dir=base or f"gs://{BUCKET}/{name}")


@pytest.fixture(scope="module")
def board(aiplatform: ModuleType) -> Any:
    return aiplatform.Tensorboard.create(display_name="of jobs")


def curves(aiplatform: ModuleType, experiment: str, board: Any) -> dict[str, dict[str, list[Any]]]:
    """{run's display name: {series: [(step, value)]}} of an experiment in a Tensorboard."""
    return {
        run.display_name: {
            name: [(point.step, point.scalar.value) for point in series.values]
            for name, series in run.read_time_series_data().items()
        }
        for run in aiplatform.TensorboardRun.list(experiment, tensorboard_id=board.name)
    }


def test_the_events_of_a_job_are_in_the_tensorboard_when_it_has_ended(
    aiplatform: ModuleType, board: Any
) -> None:
    job = custom_job(aiplatform, LOGS, "events")
    job.run(tensorboard=board.resource_name, service_account=ACCOUNT)
    series_by_run = curves(aiplatform, job.name, board)  # the experiment has the job's id
    assert set(series_by_run) == {"default", "Fold 1/validation"}
    for series in series_by_run.values():
        assert series["loss"][:2] == [(0, 1.0), (1, 0.5)]
        assert str(series["loss"][2]) == "(2, nan)"
    run = aiplatform.TensorboardRun("fold-1-validation", board.name, job.name)
    times = [point.wall_time.timestamp() for point in run.read_time_series_data()["loss"].values]
    assert times == [1.7e9, 1.7e9 + 1, 1.7e9 + 2]
    # The service has a context for each run as well; the SDK ends it, and lists no such experiment.
    assert aiplatform.Context(f"{job.name}-default").metadata["_state"] == "COMPLETE"
    assert job.name not in [one.name for one in aiplatform.Experiment.list()]


def test_the_secret_is_masked_in_the_names_of_curves(
    aiplatform: ModuleType, board: Any, cloud: Status
) -> None:
    code = LOGS.replace('tag="loss"', 'tag=os.environ["LOCAL_CLOUD_VERTEX_URL"]')
    job = custom_job(aiplatform, code, "named-after-the-secret")
    job.run(tensorboard=board.resource_name, service_account=ACCOUNT)
    for series in curves(aiplatform, job.name, board).values():
        (name,) = series
        assert "/SECRET*" in name and cloud.home.secret() not in name


def test_a_training_pipeline_and_a_failed_job_have_their_events_too(
    aiplatform: ModuleType, board: Any, script: Script
) -> None:
    job = aiplatform.CustomTrainingJob(
        display_name="pipeline", script_path=script(LOGS + "raise SystemExit(3)"),
        container_uri=IMAGE,
    )  # fmt: skip
    with pytest.raises(RuntimeError):
        job.run(
            base_output_dir=f"gs://{BUCKET}/pipeline",
            tensorboard=board.resource_name,
            service_account=ACCOUNT,
        )
    (behind,) = aiplatform.CustomJob.list(filter='display_name="pipeline-custom-job"')
    assert set(curves(aiplatform, behind.name, board)) == {"default", "Fold 1/validation"}
    assert aiplatform.Context(f"{behind.name}-default").metadata["_state"] == "FAILED"


@pytest.mark.slow
def test_the_trials_of_a_tuning_job_are_runs_of_one_experiment(
    aiplatform: ModuleType, board: Any
) -> None:
    tuning = aiplatform.HyperparameterTuningJob(
        display_name="tuned", custom_job=custom_job(aiplatform, LOGS + REPORT, "tuned"),
        metric_spec={"loss": "minimize"}, max_trial_count=2, parallel_trial_count=2,
        parameter_spec={"x": hpt.DoubleParameterSpec(min=0, max=1, scale="linear")},
    )  # fmt: skip
    tuning.run(tensorboard=board.resource_name, service_account=ACCOUNT)
    assert set(curves(aiplatform, tuning.name, board)) == {
        f"{trial}/{folder}" for trial in (1, 2) for folder in ("default", "Fold 1/validation")
    }


def test_a_job_that_writes_no_events_has_an_empty_experiment(
    aiplatform: ModuleType, board: Any
) -> None:
    job = custom_job(aiplatform, "pass", "quiet")
    job.run(tensorboard=board.resource_name, service_account=ACCOUNT)
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert curves(aiplatform, job.name, board) == {}


def test_a_deleted_tensorboard_does_not_fail_the_job(aiplatform: ModuleType) -> None:
    gone = aiplatform.Tensorboard.create(display_name="gone")
    remove = f"""
import urllib.request
url = os.environ["LOCAL_CLOUD_VERTEX_URL"] + "/v1/{gone.resource_name}"
urllib.request.urlopen(urllib.request.Request(url, method="DELETE"))
"""
    job = custom_job(aiplatform, LOGS + remove, "gone")
    job.run(tensorboard=gone.resource_name, service_account=ACCOUNT)
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    blobs = storage.Client().list_blobs(BUCKET, prefix="gone/logs/")
    assert len(list(blobs)) == 4  # nothing is lost: the events are in the bucket


def test_what_the_service_asks_for(aiplatform: ModuleType, board: Any) -> None:
    job = custom_job(aiplatform, "pass", "refused")
    with pytest.raises(exceptions.BadRequest, match="serviceAccount: required with tensorboard"):
        job.submit(tensorboard=board.resource_name)
    with pytest.raises(exceptions.NotFound, match="tensorboards/123 does not exist"):
        job.submit(
            tensorboard=board.resource_name.replace(board.name, "123"), service_account=ACCOUNT
        )
    assert aiplatform.CustomJob.list(filter='display_name="refused"') == []


@pytest.fixture
def experiment(aiplatform: ModuleType, request: pytest.FixtureRequest) -> Iterator[Any]:
    name = request.node.name.replace("_", "-")[:60]
    aiplatform.init(experiment=name)
    yield aiplatform.Experiment(name)
    aiplatform.metadata.metadata._experiment_tracker.reset()


LOGGED = """
from google.cloud import aiplatform
aiplatform.log_params({"seed": 3})
aiplatform.log_metrics({"accuracy": 0.9})
aiplatform.log_time_series_metrics({"loss": 0.5}, step=1)
"""


def test_the_script_of_a_job_logs_to_the_run_that_the_job_is_given(
    aiplatform: ModuleType, experiment: Any
) -> None:
    aiplatform.start_run("given")
    aiplatform.end_run()
    job = custom_job(aiplatform, LOGGED, "logged")
    job.run(experiment=experiment, experiment_run="given", service_account=ACCOUNT)
    row = experiment.get_data_frame().iloc[0]
    assert (row["run_name"], row["param.seed"], row["metric.accuracy"]) == ("given", 3, 0.9)
    assert (row["time_series_metric.loss"], row["state"]) == (0.5, "COMPLETE")


def test_a_job_without_a_run_gets_one_of_its_own(aiplatform: ModuleType, experiment: Any) -> None:
    job = custom_job(aiplatform, "import time; time.sleep(1000)", "own-run")
    job.submit(experiment=experiment, service_account=ACCOUNT)
    (run,) = aiplatform.ExperimentRun.list(experiment=experiment.name)
    assert (run.name, run.get_state()) == (job.name, "RUNNING")
    job.cancel()
    while job.state.name != "JOB_STATE_CANCELLED":  # each look is held until the state changes
        assert job.state.name != "JOB_STATE_FAILED"
    (run,) = aiplatform.ExperimentRun.list(experiment=experiment.name)
    assert run.get_state() == "CANCELLED"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK's own
def test_a_job_with_autolog_logs_what_its_script_trains(
    aiplatform: ModuleType, experiment: Any, script: Script
) -> None:
    """The SDK's enable_autolog puts two lines before the script, and names the mlflow it takes."""
    job = aiplatform.CustomJob.from_local_script(
        display_name="automatic",
        script_path=script(
            "from sklearn.linear_model import LogisticRegression\n"
            "LogisticRegression(C=0.5).fit([[0.0], [1.0]], [0, 1])\n"
        ),
        container_uri=IMAGE,
        enable_autolog=True,
    )
    job.run(experiment=experiment, service_account=ACCOUNT)
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    (run,) = aiplatform.ExperimentRun.list(experiment=experiment.name)
    assert run.get_params()["C"] == "0.5"
    assert run.get_metrics()["training_accuracy_score"] == 1.0


def test_each_trial_of_an_experiment_logs_to_a_run_of_its_own(
    aiplatform: ModuleType, experiment: Any
) -> None:
    """The SDK has no argument for it, but the service's field is there."""
    tuning = aiplatform.HyperparameterTuningJob(
        display_name="logging", custom_job=custom_job(aiplatform, LOGGED, "logging"),
        metric_spec={"loss": "minimize"}, max_trial_count=1, parallel_trial_count=1,
        parameter_spec={"x": hpt.DoubleParameterSpec(min=0, max=1, scale="linear")},
    )  # fmt: skip
    tuning._gca_resource.trial_job_spec.experiment = experiment.resource_name
    with pytest.raises(RuntimeError, match="No metric of the tag loss"):
        tuning.run(service_account=ACCOUNT)
    (run,) = aiplatform.ExperimentRun.list(experiment=experiment.name)
    assert (run.get_metrics(), run.get_state()) == ({"accuracy": 0.9}, "COMPLETE")
