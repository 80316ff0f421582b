"""CustomJob: worker pools as the caller lays them out, and from_local_script."""

from __future__ import annotations

import sys
import time
from types import ModuleType
from typing import Any

import numpy
import pytest
from google.cloud import storage

import local_cloud
from local_cloud.google.vertex.jobs.launch import _gpus
from tests import hidden
from tests.engine.support import alive, outside
from tests.google.vertex.support import BUCKET, IMAGE, REPORT, Script, read


def pool(code: str, count: int = 1, **machine: Any) -> dict[str, Any]:
    return {
        "machine_spec": {"machine_type": "n1-standard-4", **machine},
        "replica_count": count,
        "container_spec": {"image_uri": IMAGE, "command": ["python", "-c", code], "args": []},
    }


def custom_job(aiplatform: ModuleType, *pools: Any, **more: Any) -> Any:
    return aiplatform.CustomJob(display_name="pools", worker_pool_specs=list(pools), **more)


def wait_for(job: Any, state: str) -> None:
    end = time.monotonic() + 20
    while job.state.name != state:
        assert time.monotonic() < end, job.state
        time.sleep(0.02)


def test_pools_keep_their_places_even_with_an_empty_one_between(aiplatform: ModuleType) -> None:
    job = custom_job(
        aiplatform, pool(REPORT), {}, pool(REPORT), base_output_dir=f"gs://{BUCKET}/pools"
    )
    job.run()
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    chief = read(f"gs://{BUCKET}/pools/model/replica-0.json")["environment"]
    assert '"workerpool0"' in chief["CLUSTER_SPEC"]
    assert '"workerpool1": ' not in chief["CLUSTER_SPEC"]
    assert '"workerpool2"' in chief["CLUSTER_SPEC"]
    assert '"ps"' in chief["TF_CONFIG"]


def test_each_replica_sees_its_own_gpus_even_if_pools_have_different_numbers() -> None:
    """Of three on the machine; this one may have none."""

    def seen(*counts: int) -> list[str]:
        members = [(0, 0, {"machineSpec": {"acceleratorCount": count}}) for count in counts]
        settings = [_gpus(members, (0, 1, 2), rank) for rank in range(len(counts))]
        return [each["CUDA_VISIBLE_DEVICES"] for each in settings]

    assert seen(1, 1, 1) == ["0", "1", "2"]
    assert seen(0, 1) == ["", "0"]
    assert seen(2, 1) == ["0,1", "2"]


@pytest.mark.parametrize(
    "image", [IMAGE, pytest.param("example.com/own/image:1", marks=pytest.mark.slow)]
)
def test_from_local_script_runs_with_a_prebuilt_and_with_an_own_image(
    aiplatform: ModuleType, script: Script, image: str
) -> None:
    name = f"gs://{BUCKET}/local-script-{image[:7]}"
    job = aiplatform.CustomJob.from_local_script(
        display_name="script", script_path=script(REPORT), container_uri=image,
        args=["--epochs", "3"], base_output_dir=name, requirements=["numpy"],
    )  # fmt: skip
    job.run()
    assert read(f"{name}/model/replica-0.json")["arguments"] == ["--epochs", "3"]


def test_a_bucket_is_a_folder_below_gcs(aiplatform: ModuleType) -> None:
    storage.Client().bucket(BUCKET).blob("in/word.txt").upload_from_string("blue")
    code = f"""
import pathlib, os
word = pathlib.Path("/gcs/{BUCKET}/in/word.txt").read_text()
folder = pathlib.Path(os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/"))
folder.mkdir(parents=True)
(folder / "out.txt").write_text(word.upper())
"""
    custom_job(aiplatform, pool(code), base_output_dir=f"gs://{BUCKET}/mounted").run()
    written = storage.Client().bucket(BUCKET).blob("mounted/model/out.txt")
    assert written.download_as_text() == "BLUE"


def test_cancel_ends_a_job_and_everything_it_started(aiplatform: ModuleType) -> None:
    code = f"""
import os, pathlib, subprocess, time
child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
pathlib.Path("/gcs/{BUCKET}/child.txt").write_text(f"{{child.pid}} ")
time.sleep(1000)
"""
    job = custom_job(aiplatform, pool(code))
    job.submit()
    wait_for(job, "JOB_STATE_RUNNING")
    note = storage.Client().bucket(BUCKET).blob("child.txt")
    end = time.monotonic() + 20
    while not (note.exists() and note.download_as_text().endswith(" ")):
        assert time.monotonic() < end
        time.sleep(0.02)
    jobs = local_cloud.status().home.data / "jobs"
    log = jobs / job.resource_name.rsplit("/", 1)[1] / "workerpool0-0.log"
    child = outside(log, int(note.download_as_text()))
    job.cancel()
    wait_for(job, "JOB_STATE_CANCELLED")
    assert not alive(child)
    assert job.error.message == "CANCELED"


def test_a_deadline_fails_the_job(aiplatform: ModuleType) -> None:
    job = custom_job(aiplatform, pool("import time; time.sleep(1000)"))
    with pytest.raises(RuntimeError, match="failed"):
        job.run(timeout=1)
    assert job.state.name == "JOB_STATE_FAILED"
    assert job.error.code == 4  # DEADLINE_EXCEEDED


def test_one_failing_replica_ends_the_job_with_its_own_error(aiplatform: ModuleType) -> None:
    patient = "import time; time.sleep(1000)"
    failing = "import sys; print('no such table'); sys.exit(3)"
    job = custom_job(aiplatform, pool(patient), pool(failing))
    with pytest.raises(RuntimeError, match="workerpool1-0 exited with a non-zero status of 3"):
        job.run()
    assert "no such table" in job.error.message


def test_an_image_without_a_command_cannot_run_here_and_says_why(aiplatform: ModuleType) -> None:
    spec = pool("")
    spec["container_spec"] = {"image_uri": IMAGE}
    with pytest.raises(RuntimeError, match="named, not pulled"):
        custom_job(aiplatform, spec).run()


def test_the_interpreter_is_that_of_the_servers_environment(aiplatform: ModuleType) -> None:
    code = "import sys, numpy; sys.exit(f'{numpy.__file__} and {sys.base_prefix} are used')"
    with pytest.raises(RuntimeError, match="are used") as caught:
        custom_job(aiplatform, pool(code)).run()
    assert f"{numpy.__file__} and {sys.base_prefix}" in str(caught.value)


def test_a_job_does_not_find_the_local_cloud(aiplatform: ModuleType) -> None:
    custom_job(aiplatform, pool(hidden.SCRIPT)).run()
