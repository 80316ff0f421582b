"""google-cloud-aiplatform packs the script's folder as a package, and starts its module `task`.

It has done so for a folder given as `script_path` since 1.10 (its source_utils.py); no page of the
service says so. The locked version is tested, and, in an environment of its own, the newest one.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from local_cloud import Status
from testing.other_environments import run_in
from tests.sdk_paths.sending import FOLDER, VERTEX_IMAGE, from_vertex

BUCKET = "packing"
PACKAGE = "aiplatform_custom_trainer_script"


@pytest.fixture(scope="module")
def bucket(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A bucket with a table to train on."""
    from google.cloud import storage

    X = np.random.default_rng(0).standard_normal((41, 7))
    y = (X[:, 0] > 0).astype(int)
    path = tmp_path_factory.mktemp("packing") / "data.npz"
    np.savez(path, X_train=X, y_train=y, X_val=X, y_val=y)
    made = storage.Client().create_bucket(BUCKET)
    made.blob("data.npz").upload_from_filename(str(path))
    return BUCKET


@pytest.mark.parametrize("sent", [FOLDER, FOLDER / "train_nn.py"], ids=["folder", "file"])
def test_what_is_sent_is_packed_and_its_module_task_is_started(bucket: str, sent: Path) -> None:
    from google.cloud import aiplatform, storage

    job = aiplatform.CustomJob.from_local_script(
        display_name="packing", script_path=str(sent), container_uri=VERTEX_IMAGE,
        project="packing", location="us-central1", staging_bucket=f"gs://{bucket}",
    )  # fmt: skip
    (pool,) = job.job_spec.worker_pool_specs
    assert pool.python_package_spec.python_module == f"{PACKAGE}.task"
    (uri,) = pool.python_package_spec.package_uris
    name = uri.removeprefix(f"gs://{bucket}/")
    body = storage.Client().bucket(bucket).blob(name).download_as_bytes()
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        files = {
            member.name.partition(f"/{PACKAGE}/")[2]: content.read()
            for member in archive
            if f"/{PACKAGE}/" in member.name and (content := archive.extractfile(member))
        }
    there = {path.name: path.read_bytes() for path in FOLDER.glob("*.py")}
    alone = {"task.py": there["train_nn.py"], "__init__.py": b""}
    assert files == (there if sent.is_dir() else alone)


@pytest.mark.slow
@pytest.mark.parametrize("replicas", [1, 2])
def test_the_newest_sdk_runs_the_folder(bucket: str, tmp_path: Path, replicas: int) -> None:
    """With --checkpoint_every, which writes into a mounted bucket."""
    name, data = f"newest-{replicas}", f"gs://{bucket}/data.npz"
    program = f"""
import local_cloud
local_cloud.activate()
from google.cloud import aiplatform
aiplatform.init(project="packing", location="us-central1", staging_bucket="gs://{bucket}")
job = aiplatform.CustomTrainingJob(
    display_name="{name}", script_path={str(FOLDER)!r}, container_uri="{VERTEX_IMAGE}"
)
args = ["--train={data}", "--val={data}", "--epochs=5", "--checkpoint_every=2"]
job.run(args=args, replica_count={replicas}, base_output_dir="gs://{bucket}/{name}")
"""
    run_in("aiplatform", program, tmp_path)
    metrics, _ = from_vertex(f"gs://{bucket}/{name}")
    assert metrics["world_size"] == replicas
