"""Every cell of the lesson that this one grew from runs, in an IPython shell, with the real SDKs.

The cells are those of its page “Training Models in Vertex AI: PyTorch Example”. Changed are names
(project, bucket, the path of the table), `CustomTrainingJob` for `CustomJob`, which takes no script
(its `args` belong to `run`), and a new job for the second run, because one object is good for one
job. Epochs are as on the page.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from local_cloud import Status

ROOT = Path(__file__).parents[2]
PROJECT, BUCKET = "seed-project", "seed-page"

OPENING = "import local_cloud; local_cloud.activate()"  # the page had a cloud already

SET_UP = f"""
from google.cloud import aiplatform, storage
import pandas as pd
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, LabelEncoder

PROJECT_ID = "{PROJECT}"
REGION = "us-central1"
BUCKET_NAME = "{BUCKET}"

aiplatform.init(project=PROJECT_ID, location=REGION, staging_bucket=f"gs://{{BUCKET_NAME}}")
"""

PREPARE = f"""
# Load and preprocess Titanic dataset
df = pd.read_csv("{ROOT}/data/titanic_train.csv")

df['Sex'] = LabelEncoder().fit_transform(df['Sex'])
df['Embarked'] = df['Embarked'].fillna('S')
df['Embarked'] = LabelEncoder().fit_transform(df['Embarked'])
df['Age'] = df['Age'].fillna(df['Age'].median())
df['Fare'] = df['Fare'].fillna(df['Fare'].median())

X = df[['Pclass', 'Sex', 'Age', 'SibSp', 'Parch', 'Fare', 'Embarked']].values
y = df['Survived'].values

scaler = StandardScaler()
X = scaler.fit_transform(X)

X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=42)

np.savez('train_data.npz', X_train=X_train, y_train=y_train)
np.savez('val_data.npz', X_val=X_val, y_val=y_val)
"""

UPLOAD = """
client = storage.Client()
bucket = client.bucket(BUCKET_NAME)

bucket.blob("train_data.npz").upload_from_filename("train_data.npz")
bucket.blob("val_data.npz").upload_from_filename("val_data.npz")

print("Files uploaded to GCS.")
"""

TEST_LOCALLY = """
import torch
import time as t

epochs = 100
learning_rate = 0.001

start_time = t.time()
%run GCP_helpers/train_nn.py --train train_data.npz --val val_data.npz --epochs {epochs} --learning_rate {learning_rate}
print(f"Local training time: {t.time() - start_time:.2f} seconds")
"""  # noqa: E501

MAKE_JOB = """
job = aiplatform.CustomTrainingJob(
    display_name="pytorch-train",
    script_path="GCP_helpers/train_nn.py",
    container_uri="us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.1-13:latest",
    requirements=["torch", "pandas", "numpy", "scikit-learn"],
    model_serving_container_image_uri="us-docker.pkg.dev/vertex-ai/prediction/pytorch-gpu.1-13:latest",
)
"""

# On the page these stand among the arguments of CustomJob; here it is run() that takes them.
ARGS = """
args=[
    "--train=gs://{}/train_data.npz".format(BUCKET_NAME),
    "--val=gs://{}/val_data.npz".format(BUCKET_NAME),
    "--epochs=1000",
    "--learning_rate=0.001"
]
"""

RUN = """
model = job.run(args=args, replica_count=1, machine_type="n1-standard-4")
"""

DEVICE = """
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

RUN_REPLICAS = """
model = job.run(args=args, replica_count=2, machine_type="n1-standard-8", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=1)
"""  # noqa: E501

CELLS = [
    SET_UP,
    PREPARE,
    UPLOAD,
    TEST_LOCALLY,
    MAKE_JOB,
    ARGS,
    RUN,
    "first = model",
]
REPLICAS = [DEVICE, MAKE_JOB, RUN_REPLICAS, "print('MODELS', first.uri, model.uri)"]


@pytest.fixture(scope="module")
def bucket(cloud: Status) -> None:
    from google.cloud import storage

    storage.Client(project=PROJECT).create_bucket(BUCKET)


@pytest.fixture(scope="module")
def page(bucket: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The page up to its first job."""
    return run(tmp_path_factory.mktemp("seed page"), CELLS)


@pytest.fixture(scope="module")
def whole(bucket: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The whole page."""
    return run(tmp_path_factory.mktemp("whole page"), [*CELLS, *REPLICAS])


def run(folder: Path, cells: list[str]) -> tuple[Path, str]:
    """Run cell after cell in one shell; returns its folder and what it printed."""
    (folder / "GCP_helpers").symlink_to(ROOT / "GCP_helpers")
    (folder / "page.ipy").write_text("\n".join([OPENING, *cells]))
    command = [sys.executable, "-m", "IPython", "--colors=NoColor", "page.ipy"]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout


def environment(folder: Path) -> dict[str, str]:
    """This process's variables, with the lesson on the path and nobody's settings of IPython."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder / "ipython")}


def results(address: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """metrics.json and the weights at a gs:// address."""
    import torch
    from google.cloud import storage

    prefix = address.removeprefix(f"gs://{BUCKET}/").rstrip("/")
    bucket = storage.Client(project=PROJECT).bucket(BUCKET)
    metrics, model = (
        bucket.blob(f"{prefix}/{name}").download_as_bytes() for name in ("metrics.json", "model.pt")
    )
    return json.loads(metrics), torch.load(io.BytesIO(model), weights_only=True)["model"]


def test_every_cell_up_to_the_first_job_runs(page: tuple[Path, str]) -> None:
    _, printed = page
    assert "Files uploaded to GCS." in printed
    assert "validation:accuracy = 0.8" in printed
    assert "Local training time: " in printed
    assert printed.count("CustomTrainingJob run completed.") == 1


def test_the_archives_in_the_bucket_are_those_of_the_page(page: tuple[Path, str]) -> None:
    from google.cloud import storage

    folder, _ = page
    bucket = storage.Client(project=PROJECT).bucket(BUCKET)
    for name in ("train_data.npz", "val_data.npz"):
        assert bucket.blob(name).download_as_bytes() == (folder / name).read_bytes()
    with np.load(folder / "train_data.npz") as archive:
        assert archive["X_train"].shape == (569, 7)


@pytest.mark.slow
def test_both_runs_end_in_models_and_the_second_one_trained_one_model_on_two_replicas(
    whole: tuple[Path, str],
) -> None:
    line = next(line for line in whole[1].splitlines() if line.startswith("MODELS "))
    (one, weights), (two, weights_of_two) = map(results, line.split()[1:])
    assert (one["world_size"], two["world_size"]) == (1, 2)
    rows = [(part["rows"]["start"], part["rows"]["stop"]) for part in two["replicas"]]
    assert rows == [(0, 284), (284, 569)]
    assert two["epochs"] == one["epochs"] and two["accuracy"] == one["accuracy"]
    for name, tensor in weights.items():
        np.testing.assert_allclose(tensor, weights_of_two[name], rtol=0, atol=1e-5)


def test_the_calls_that_the_page_had_wrong_raise(page: tuple[Path, str]) -> None:
    from google.cloud import aiplatform

    custom_job: Any = aiplatform.CustomJob
    with pytest.raises(TypeError, match="unexpected keyword argument 'script_path'"):
        custom_job(display_name="pytorch-train", script_path="GCP_helpers/train_nn.py")
