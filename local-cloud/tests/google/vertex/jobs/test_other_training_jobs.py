"""CustomPythonPackageTrainingJob and CustomContainerTrainingJob: code that is packed already."""

from __future__ import annotations

import io
import tarfile
from types import ModuleType

import pytest
from google.cloud import storage

from tests.google.vertex.support import BUCKET, IMAGE, REPORT, read


def put_package(name: str, files: dict[str, str]) -> str:
    """Upload an sdist made of these files; returns its gs:// address."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{name}-1.0/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    blob = storage.Client().bucket(BUCKET).blob(f"packages/{name}-1.0.tar.gz")
    blob.upload_from_string(packed.getvalue())
    return f"gs://{BUCKET}/{blob.name}"


@pytest.mark.parametrize("root", ["", "src/"])
def test_a_python_package_is_unpacked_and_its_module_run(aiplatform: ModuleType, root: str) -> None:
    name = f"trainer{len(root)}"
    package = put_package(
        name, {f"{root}{name}/__init__.py": "", f"{root}{name}/task.py": REPORT, "PKG-INFO": ""}
    )
    job = aiplatform.CustomPythonPackageTrainingJob(
        display_name="package",
        python_package_gcs_uri=package,
        python_module_name=f"{name}.task",
        container_uri=IMAGE,
    )
    job.run(args=["--epochs=1"], base_output_dir=f"gs://{BUCKET}/{name}")
    assert read(f"gs://{BUCKET}/{name}/model/replica-0.json")["arguments"] == ["--epochs=1"]


def test_a_package_that_is_not_there_fails_with_its_address(aiplatform: ModuleType) -> None:
    job = aiplatform.CustomPythonPackageTrainingJob(
        display_name="package",
        python_package_gcs_uri=f"gs://{BUCKET}/no/such.tar.gz",
        python_module_name="trainer.task",
        container_uri=IMAGE,
    )
    with pytest.raises(RuntimeError, match=r"no/such\.tar\.gz"):
        job.run()


def test_a_package_that_would_write_elsewhere_is_refused(aiplatform: ModuleType) -> None:
    package = put_package("evil", {"../../../escaped.py": "print('out')"})
    job = aiplatform.CustomPythonPackageTrainingJob(
        display_name="package",
        python_package_gcs_uri=package,
        python_module_name="escaped",
        container_uri=IMAGE,
    )
    with pytest.raises(RuntimeError, match="cannot be unpacked"):
        job.run()


def test_a_container_runs_its_command_with_its_arguments(aiplatform: ModuleType) -> None:
    job = aiplatform.CustomContainerTrainingJob(
        display_name="container",
        container_uri="example.com/own/trainer:1",
        command=["python", "-c", REPORT],
    )
    job.run(args=["--epochs=2"], replica_count=2, base_output_dir=f"gs://{BUCKET}/container")
    seen = [read(f"gs://{BUCKET}/container/model/replica-{rank}.json") for rank in (0, 1)]
    assert [one["arguments"] for one in seen] == [["--epochs=2"]] * 2


def test_a_command_that_this_machine_lacks_fails_with_its_name(aiplatform: ModuleType) -> None:
    job = aiplatform.CustomContainerTrainingJob(
        display_name="container", container_uri="example.com/x:1", command=["no-such-program"]
    )
    with pytest.raises(RuntimeError, match="no-such-program"):
        job.run()
