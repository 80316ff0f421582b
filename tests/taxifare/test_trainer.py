"""The taxi trainer: as a module, as a package in a job, and against the baselines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from local_cloud import Status
from tests.taxifare import running
from tests.taxifare.running import IMAGE, PROJECT, results

BUCKET = "taxi-for-tests"

# Read a model back, in a process that has nothing of the trainer.
READ = """
import sys, keras, numpy as np, pandas as pd
model = keras.models.load_model(sys.argv[1])
table = pd.concat([pd.read_csv(name, header=None, parse_dates=[1]) for name in sys.argv[2:]])
X = np.column_stack([table[[2, 3, 4, 5, 6]], table[1].dt.weekday, table[1].dt.hour])
print(np.sqrt(np.mean((model.predict(X, verbose=0)[:, 0] - table[0]) ** 2)))
"""


@pytest.fixture(scope="module")
def package(cloud: Status, rides: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The package and the rides in a bucket; returns the package's URI."""
    from google.cloud import aiplatform, storage

    folder = tmp_path_factory.mktemp("dist")
    build = f"from setuptools.build_meta import build_sdist; build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=PROJECT, check=True, capture_output=True)
    bucket = storage.Client().create_bucket(BUCKET)
    (sdist,) = folder.iterdir()
    assert sdist.name == "taxifare_trainer-0.1.tar.gz"
    for path in (sdist, *rides.iterdir()):
        bucket.blob(f"taxifare/{path.name}").upload_from_filename(str(path))
    aiplatform.init(project="my-project", location="us-central1", staging_bucket=f"gs://{BUCKET}")
    return f"gs://{BUCKET}/taxifare/{sdist.name}"


def fetched(output: str, folder: Path) -> Path:
    """Download what a job has written."""
    from google.cloud import storage

    prefix = output.removeprefix(f"gs://{BUCKET}/")
    for blob in storage.Client().list_blobs(BUCKET, prefix=f"{prefix}/"):
        path = folder / blob.name.removeprefix(f"{prefix}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        blob.download_to_filename(str(path))
    return folder


def test_the_network_is_better_than_the_mean_and_than_linear_regression(module: Path) -> None:
    written = results(module)
    assert written["val_rmse"] < 0.8 * written["linear_rmse"]
    assert written["linear_rmse"] < 0.5 * written["mean_rmse"]
    assert written["examples"] == 60_000


@pytest.mark.slow
def test_the_model_file_predicts_without_the_package(module: Path, rides: Path) -> None:
    shards = sorted(map(str, rides.glob("taxi-valid*")))
    done = subprocess.run(
        [sys.executable, "-c", READ, str(module / "model.keras"), *shards],
        env={"KERAS_BACKEND": "torch", "HOME": str(module)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(results(module)["val_rmse"], rel=1e-4)


@pytest.mark.slow
def test_the_package_job_has_the_metric_of_the_module(
    package: str, module: Path, tmp_path: Path
) -> None:
    from google.cloud import aiplatform

    job = aiplatform.CustomPythonPackageTrainingJob(
        display_name="taxifare",
        python_package_gcs_uri=package,
        python_module_name="trainer.task",
        container_uri=IMAGE,
    )
    output = f"gs://{BUCKET}/one"
    job.run(args=running.flags(f"gs://{BUCKET}/taxifare", output), machine_type="n1-standard-4")
    written = results(fetched(output, tmp_path))
    assert written["val_rmse"] == pytest.approx(results(module)["val_rmse"], rel=1e-4)


@pytest.mark.slow
def test_a_chief_and_a_worker_of_another_machine_type_train_one_model(
    package: str, module: Path, tmp_path: Path
) -> None:
    from google.cloud import aiplatform

    output = f"gs://{BUCKET}/two"
    python = {
        "executor_image_uri": IMAGE,
        "package_uris": [package],
        "python_module": "trainer.task",
        "args": running.flags(f"gs://{BUCKET}/taxifare", output),
    }
    pools = [
        {
            "machine_spec": {"machine_type": machine},
            "replica_count": 1,
            "python_package_spec": python,
        }
        for machine in ("n1-standard-8", "n1-standard-4")
    ]
    aiplatform.CustomJob("taxifare", pools, staging_bucket=f"gs://{BUCKET}").run()
    folder = fetched(output, tmp_path)
    parts = [results(folder, f"worker-{rank}/metrics.json") for rank in (0, 1)]
    assert [part["rank"] for part in parts] == [0, 1]
    assert [part["examples"] for part in parts] == [30_000, 30_000]
    for part in parts:
        assert part["val_rmse"] == pytest.approx(results(module)["val_rmse"], rel=1e-3)


@pytest.mark.slow
def test_a_study_minimizes_what_the_trainer_reports(package: str) -> None:
    from google.cloud import aiplatform
    from google.cloud.aiplatform import hyperparameter_tuning as hpt

    words = "--num_examples_to_train_on 2000 --num_evals 1 --batch_size 250 --nbuckets 4"
    data = [f"--{part}_data_path=gs://{BUCKET}/taxifare/taxi-valid*" for part in ("train", "eval")]
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "python_package_spec": {
            "executor_image_uri": IMAGE,
            "package_uris": [package],
            "python_module": "trainer.task",
            "args": [*data, *words.split()],
        },
    }
    study = aiplatform.HyperparameterTuningJob(
        display_name="taxifare",
        custom_job=aiplatform.CustomJob("taxifare", [pool], staging_bucket=f"gs://{BUCKET}"),
        metric_spec={"val_rmse": "minimize"},
        parameter_spec={"lr": hpt.DoubleParameterSpec(min=1e-4, max=1e-1, scale="log")},
        max_trial_count=2,
        parallel_trial_count=1,
    )
    study.run()
    for trial in study.trials:
        (metric,) = trial.final_measurement.metrics
        assert metric.metric_id == "val_rmse" and metric.value > 0
