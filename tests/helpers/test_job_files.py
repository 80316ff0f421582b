"""write_job: the request of a dry run as a file, and the command that sends it."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from botocore.validate import ParamValidator
from google.cloud.aiplatform_v1.types import CustomJobSpec
from google.protobuf.json_format import ParseDict

from lesson import LessonError
from lesson.jobs.request import Request
from lesson.jobs.studies import between
from tests.helpers.sides import SIDES, Side, both_sides


def refused(side: Side, content: Any) -> str:
    """What the service's own schema has against a file's content."""
    if side.cloud == "Google":
        ParseDict(content, CustomJobSpec.pb(CustomJobSpec()))  # raises for what it does not know
        return ""
    model = boto3.client("sagemaker").meta.service_model.operation_model("CreateTrainingJob")
    report: str = ParamValidator().validate(content, model.input_shape).generate_report()
    return report


@both_sides(fast="Google")
def test_the_file_s_job_is_the_one_that_train_would_have_sent(
    side: Side, data: dict[str, Any], tmp_path: Path
) -> None:
    """The program of the cloud sends it, with what connect() has put in the environment."""
    verbs, path = side.helpers, tmp_path / "jobs of mine" / "job.yaml"
    request = verbs.train(data | {"epochs": 3}, replicas=2, dry_run=True)
    before = len(verbs.list_jobs())
    command = shlex.split(verbs.write_job(request, str(path)))
    assert len(verbs.list_jobs()) == before, "nothing is sent"
    content = yaml.safe_load(path.read_text())  # which reads JSON, too
    assert not refused(side, content)
    assert json.dumps(content).count("--epochs=3") + json.dumps(content).count('"epochs": "3"') >= 1
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    name = content.get("TrainingJobName") or request["CustomJob.from_local_script"]["display_name"]
    run = verbs.wait(name)
    assert (run.replicas, run.metrics["world_size"]) == (2, 2)
    assert list(verbs.list_jobs(mine=True).head(1)["name"]) == [name]


@pytest.mark.slow
def test_a_job_of_another_image_and_one_on_spot_machines(
    side: Side, data: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "job.yaml"
    for options in ({"container_uri": "example.com/image:1"}, {"spot": True}):
        side.helpers.write_job(side.helpers.train(data, dry_run=True, **options), str(path))
        content = yaml.safe_load(path.read_text())
        assert not refused(side, content)
        wanted = "SPOT" if side.cloud == "Google" else '"EnableManagedSpotTraining": true'
        assert (wanted in json.dumps(content)) == ("spot" in options)
        assert ("example.com/image:1" in json.dumps(content)) == ("container_uri" in options)


def test_what_is_no_training_job_is_refused_and_not_sent(
    side: Side, data: dict[str, Any], tmp_path: Path
) -> None:
    study = side.helpers.tune(
        data, {"learning_rate": between(0.001, 0.1)}, trials=2, parallel=1, dry_run=True
    )
    for request in (Request(), study):
        with pytest.raises(LessonError, match="no training job"):
            side.helpers.write_job(request, str(tmp_path / "job.yaml"))
    assert not (tmp_path / "job.yaml").exists()


@pytest.mark.parametrize("options", [{}, {"container_uri": "example.com/xla:1"}])
def test_a_pool_with_tpus_has_their_topology(
    cloud: object, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    helpers = SIDES["Google"].helpers
    helpers.connect()
    data = {"train": "gs://b/t.npz", "val": "gs://b/v.npz", "device": "xla"}
    request = helpers.train(data, machine="ct5lp-hightpu-4t", dry_run=True, **options)
    helpers.write_job(request, "job.yaml")
    content = yaml.safe_load(Path("job.yaml").read_text())
    ParseDict(content, CustomJobSpec.pb(CustomJobSpec()))
    (pool,) = content["workerPoolSpecs"]
    assert pool["machineSpec"] == {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "2x2"}
