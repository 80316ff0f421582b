"""gcloud and gsutil work here with only the lines that `python -m local_cloud env` prints.

Each command takes a second or more to start, so two tests are fast and the rest is slow.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from typing import Any

import joblib
import pytest
from google.cloud import bigquery, storage
from sklearn.linear_model import LogisticRegression

from local_cloud.client.control import Status
from local_cloud.client.home import NEVER
from tests.shell import Shell

pytestmark = pytest.mark.skipif(
    not shutil.which("gcloud"), reason="the Google Cloud CLI is not installed"
)

CONFIG = """
workerPoolSpecs:
- machineSpec: {machineType: n1-standard-4}
  replicaCount: 1
  containerSpec:
    imageUri: us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest
    command: [python, -c, "import sys; print('given', *sys.argv[1:])"]
    args: [--epochs=3]
"""


@pytest.fixture(scope="module")
def shell(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    shell = Shell(tmp_path_factory.mktemp("at home"))
    for name in ("data/a.csv", "data/deep/b c.csv", "data/ü.csv"):
        path = shell.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (shell.folder / "config.yaml").write_text(CONFIG)
    return shell


@pytest.fixture
def bucket(shell: Shell) -> Iterator[storage.Bucket]:
    bucket = storage.Client().create_bucket("with-gcloud")
    yield bucket
    if bucket.exists():
        bucket.delete(force=True)


def names(bucket: storage.Bucket) -> set[str]:
    return {blob.name for blob in bucket.list_blobs()}


FILES = {"data/a.csv", "data/deep/b c.csv", "data/ü.csv"}


def test_a_folder_goes_up_and_a_job_is_sent(shell: Shell, bucket: storage.Bucket) -> None:
    shell.out("gcloud", "storage", "cp", "-r", "data", "gs://with-gcloud/")
    assert names(bucket) == FILES
    assert bucket.blob("data/a.csv").download_as_text() == "data/a.csv"
    done = shell.run(
        "gcloud",
        "ai",
        "custom-jobs",
        "create",
        "--region=us-central1",
        "--display-name=with-gcloud",
        "--config=config.yaml",
        "--format=json",
    )
    assert done.returncode == 0, done.stderr
    job = json.loads(done.stdout)
    assert job["displayName"] == "with-gcloud"
    assert job["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"] == ["--epochs=3"]
    secret = os.environ["LOCAL_CLOUD_VERTEX_URL"].rsplit("/", 1)[1]
    assert "http://127.0.0.1" in done.stderr and secret not in done.stderr + done.stdout
    assert not (shell.folder / ".config").exists(), "the user's own configuration stays as it is"


def test_gsutil_has_gcloud_do_the_work(cloud: Status, shell: Shell, bucket: storage.Bucket) -> None:
    shell.out("gsutil", "cp", "data/a.csv", "gs://with-gcloud/one/a.csv")
    assert names(bucket) == {"one/a.csv"}
    # gcloud notes here what it is told when it looks for the metadata server of Google's machines.
    assert (cloud.home.gcloud_config / "gce").stat().st_mtime == NEVER, "it has asked the network"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "service"),
    [
        (("compute", "instances", "describe", "x", "--zone=us-central1-a"), "compute"),
        (("artifacts", "repositories", "list", "--location=us"), "artifactregistry"),
        (("builds", "list"), "cloudbuild"),
        (("ai-platform", "jobs", "list"), "ml"),
        (("services", "enable", "aiplatform.googleapis.com"), "serviceusage"),
        (("compute", "instances", "list"), "compute"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_is_not_here_is_refused_by_name(
    shell: Shell, words: tuple[str, ...], service: str
) -> None:
    done = shell.run("gcloud", *words)
    assert done.returncode != 0
    assert f"not part of the local cloud: {service}" in done.stdout + done.stderr
    assert "crashed" not in done.stderr


@pytest.mark.slow
def test_what_has_no_endpoint_of_its_own_ends_at_the_proxy(shell: Shell) -> None:
    done = shell.run("gcloud", "container", "images", "list")
    assert "gcr.io is not part of the local cloud, so nothing was sent" in done.stderr


@pytest.mark.slow
def test_a_project_that_is_set_holds_for_gcloud_and_bq(shell: Shell) -> None:
    before = shell.out("gcloud", "config", "get", "project")
    assert before == "local-project\n"
    shell.out("gcloud", "config", "set", "project", "set-by-gcloud")
    assert shell.out("gcloud", "config", "get", "project") == "set-by-gcloud\n"
    described = shell.out("gcloud", "projects", "describe", "set-by-gcloud", "--format=json")
    assert json.loads(described)["projectId"] == "set-by-gcloud"
    assert "set-by-gcloud" in shell.out("gcloud", "projects", "list", "--format=value(projectId)")
    shell.out("bq", "mk", "--dataset", "of_the_project")
    client = bigquery.Client(project="set-by-gcloud")
    assert [each.dataset_id for each in client.list_datasets()] == ["of_the_project"]
    client.delete_dataset("of_the_project")
    shell.out("gcloud", "config", "set", "project", "local-project")


@pytest.mark.slow
def test_the_beta_commands_work(shell: Shell) -> None:
    of_beta = ("--region=us-central1", "--format=json")
    made = shell.out("gcloud", "beta", "ai", "endpoints", "create", "--display-name=b", *of_beta)
    name = json.loads(made)["name"]
    listed = json.loads(shell.out("gcloud", "beta", "ai", "endpoints", "list", *of_beta))
    assert name in [each["name"] for each in listed]
    shell.out("gcloud", "beta", "ai", "endpoints", "delete", name, *of_beta)


@pytest.mark.slow
def test_buckets_and_folders(shell: Shell) -> None:
    def gcloud(*words: str) -> str:
        return shell.out("gcloud", "storage", *words)

    gcloud("buckets", "create", "gs://of-gcloud", "--location=us-central1")
    content = json.loads(gcloud("buckets", "describe", "gs://of-gcloud", "--format=json"))
    assert content["location"] == "US-CENTRAL1"
    bucket = storage.Client().bucket("of-gcloud")
    gcloud("rsync", "-r", "data", "gs://of-gcloud/data")
    assert names(bucket) == FILES
    assert gcloud("ls", "gs://of-gcloud/data").split() == [
        "gs://of-gcloud/data/a.csv",
        "gs://of-gcloud/data/ü.csv",
        "gs://of-gcloud/data/deep/",
    ]
    assert gcloud("ls", "-r", "gs://of-gcloud/**").splitlines() == [
        f"gs://of-gcloud/{name}" for name in sorted(FILES)
    ]
    (shell.folder / "data/a.csv").unlink()
    gcloud("rsync", "-r", "--delete-unmatched-destination-objects", "data", "gs://of-gcloud/data")
    assert names(bucket) == FILES - {"data/a.csv"}
    gcloud("rsync", "-r", "gs://of-gcloud/data", "copy")
    assert (shell.folder / "copy/deep/b c.csv").read_text() == "data/deep/b c.csv"
    (shell.folder / "data/a.csv").write_text("data/a.csv")
    gcloud("cp", "gs://of-gcloud/data/ü.csv", "gs://of-gcloud/moved.csv")
    assert gcloud("cat", "gs://of-gcloud/moved.csv") == "data/ü.csv"
    gcloud("mv", "gs://of-gcloud/moved.csv", "gs://of-gcloud/again.csv")
    gcloud("rm", "gs://of-gcloud/again.csv")
    gcloud("rm", "-r", "gs://of-gcloud/data")
    assert names(bucket) == set()
    gcloud("rm", "-r", "gs://of-gcloud")
    assert not bucket.exists()


@pytest.mark.slow
def test_a_large_file_goes_up_in_chunks(shell: Shell, bucket: storage.Bucket) -> None:
    content = os.urandom(20 << 20)
    (shell.folder / "large.bin").write_bytes(content)
    shell.out("gcloud", "storage", "cp", "large.bin", "gs://with-gcloud/large.bin")
    shell.out("gcloud", "storage", "cp", "gs://with-gcloud/large.bin", "back.bin")
    assert (shell.folder / "back.bin").read_bytes() == content


@pytest.mark.slow
def test_the_commands_of_gsutil(shell: Shell) -> None:
    shell.out("gsutil", "mb", "-l", "us-central1", "gs://of-gsutil")
    shell.out("gsutil", "-m", "cp", "-r", "data", "gs://of-gsutil/")
    bucket = storage.Client().bucket("of-gsutil")
    assert names(bucket) == FILES
    listed = shell.out("gsutil", "ls", "-r", "gs://of-gsutil/**").splitlines()
    assert listed == [f"gs://of-gsutil/{name}" for name in sorted(FILES)]
    (shell.folder / "from-gsutil").mkdir()
    shell.out("gsutil", "rsync", "-r", "gs://of-gsutil/data", "from-gsutil")
    assert (shell.folder / "from-gsutil/a.csv").read_text() == "data/a.csv"
    shell.out("gsutil", "rm", "gs://of-gsutil/data/a.csv")
    shell.out("gsutil", "rm", "-r", "gs://of-gsutil")
    assert not bucket.exists()


class Ai:
    """`gcloud ai` with its answers as JSON."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell

    def __call__(self, *words: str) -> Any:
        said = self.shell.out("gcloud", "ai", *words, "--region=us-central1", "--format=json")
        return json.loads(said) if said.strip() else None


@pytest.fixture
def ai(shell: Shell) -> Ai:
    return Ai(shell)


@pytest.mark.slow
def test_custom_jobs(shell: Shell, ai: Ai) -> None:
    job = ai("custom-jobs", "create", "--display-name=streamed", "--config=config.yaml")
    streamed = ("--region=us-central1", "--polling-interval=2")
    said = shell.out("gcloud", "ai", "custom-jobs", "stream-logs", job["name"], *streamed)
    assert "workerpool0-0\tgiven --epochs=3" in said
    assert ai("custom-jobs", "describe", job["name"])["state"] == "JOB_STATE_SUCCEEDED"
    read = ("gcloud", "logging", "read", "--format=value(textPayload)")
    ours = f'resource.labels.job_id="{job["name"].split("/")[-1]}"'
    assert shell.out(*read, f'{ours} AND textPayload:"given"') == "given --epochs=3\n"
    assert shell.out(*read, ours, "--project=another") == ""
    # What the command line says counts, not the file.
    job = ai(
        "custom-jobs",
        "create",
        "--display-name=other",
        "--config=config.yaml",
        "--args=--epochs=5",
        "--labels=course=autumn",
    )
    assert job["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"] == ["--epochs=5"]
    assert job["labels"] == {"course": "autumn"}
    jobs = ai("custom-jobs", "list", "--filter=labels.course=autumn")
    assert [one["displayName"] for one in jobs] == ["other"]


@pytest.mark.slow
def test_worker_pools_and_cancel(shell: Shell, ai: Ai) -> None:
    pool = "replica-count={},machine-type={},container-image-uri=example.com/image:1"
    job = ai(
        "custom-jobs",
        "create",
        "--display-name=pools",
        f"--worker-pool-spec={pool.format(1, 'n1-standard-4')}",
        f"--worker-pool-spec={pool.format(2, 'n1-highmem-2')}",
        "--command=python,-c",
        "--args=^;^import time; time.sleep(600)".replace("; ", "\n"),
    )
    pools = job["jobSpec"]["workerPoolSpecs"]
    assert [one["machineSpec"]["machineType"] for one in pools] == ["n1-standard-4", "n1-highmem-2"]
    ai("custom-jobs", "cancel", job["name"])
    while "CANCELLED" not in ai("custom-jobs", "describe", job["name"])["state"]:
        pass


INSIDE = """
workerPoolSpecs:
- machineSpec: {machineType: n1-standard-4}
  replicaCount: 1
  containerSpec:
    imageUri: us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest
    command:
    - bash
    - -ec
    - |
      echo inside > note.txt
      gcloud storage cp note.txt gs://with-gcloud/by-gcloud.txt
      gsutil cp note.txt gs://with-gcloud/by-gsutil.txt
"""

TUNING = """
studySpec:
  metrics: [{metricId: validation_accuracy, goal: MAXIMIZE}]
  parameters:
  - {parameterId: lr, doubleValueSpec: {minValue: 0.1, maxValue: 0.5}}
trialJobSpec:
  workerPoolSpecs:
  - machineSpec: {machineType: n1-standard-4}
    replicaCount: 1
    containerSpec:
      imageUri: us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest
      command:
      - python
      - -c
      - |
        import sys
        import hypertune
        value = float(sys.argv[-1].split("=")[1])
        hypertune.HyperTune().report_hyperparameter_tuning_metric("validation_accuracy", value)
"""


@pytest.mark.slow
def test_hyperparameter_tuning(shell: Shell, ai: Ai) -> None:
    (shell.folder / "tuning.yaml").write_text(TUNING)
    job = ai(
        "hp-tuning-jobs",
        "create",
        "--display-name=tuned",
        "--config=tuning.yaml",
        "--max-trial-count=2",
        "--parallel-trial-count=2",
    )
    while (job_now := ai("hp-tuning-jobs", "describe", job["name"]))["state"] in (
        "JOB_STATE_QUEUED",
        "JOB_STATE_PENDING",
        "JOB_STATE_RUNNING",
    ):
        pass
    assert job_now["state"] == "JOB_STATE_SUCCEEDED"
    assert [trial["state"] for trial in job_now["trials"]] == ["SUCCEEDED", "SUCCEEDED"]
    assert "tuned" in [one["displayName"] for one in ai("hp-tuning-jobs", "list")]
    ai("hp-tuning-jobs", "cancel", job["name"])


@pytest.mark.slow
def test_a_model_is_deployed_and_predicts(shell: Shell, ai: Ai, bucket: storage.Bucket) -> None:
    joblib.dump(
        LogisticRegression().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]), shell.folder / "m.joblib"
    )
    bucket.blob("m/model.joblib").upload_from_filename(str(shell.folder / "m.joblib"))
    image = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-5:latest"
    ai(
        "models",
        "upload",
        "--display-name=of-gcloud",
        f"--container-image-uri={image}",
        "--artifact-uri=gs://with-gcloud/m",
    )
    (model,) = (one for one in ai("models", "list") if one["displayName"] == "of-gcloud")
    endpoint = ai("endpoints", "create", "--display-name=of-gcloud")["name"]
    number = model["name"].split("/")[-1]
    ai(
        "endpoints",
        "deploy-model",
        endpoint,
        f"--model={number}",
        "--display-name=first",
        "--machine-type=n1-standard-2",
        "--traffic-split=0=100",
    )
    (shell.folder / "request.json").write_text('{"instances": [[0.0, 0.1], [1.0, 1.0]]}')
    said = ai("endpoints", "predict", endpoint, "--json-request=request.json")
    assert said["predictions"] == [0, 1]
    (deployed,) = ai("endpoints", "describe", endpoint)["deployedModels"]
    ai("endpoints", "undeploy-model", endpoint, f"--deployed-model-id={deployed['id']}")
    ai("endpoints", "delete", endpoint)
    ai("models", "delete", number)
    assert "of-gcloud" not in [one["displayName"] for one in ai("models", "list")]


@pytest.mark.slow
def test_both_programs_work_inside_a_job(shell: Shell, ai: Ai, bucket: storage.Bucket) -> None:
    (shell.folder / "inside.yaml").write_text(INSIDE)
    job = ai("custom-jobs", "create", "--display-name=inside", "--config=inside.yaml")
    while (state := ai("custom-jobs", "describe", job["name"])["state"]) in (
        "JOB_STATE_QUEUED",
        "JOB_STATE_PENDING",
        "JOB_STATE_RUNNING",
    ):
        pass
    assert state == "JOB_STATE_SUCCEEDED"
    assert names(bucket) == {"by-gcloud.txt", "by-gsutil.txt"}
    assert bucket.blob("by-gsutil.txt").download_as_text() == "inside\n"
