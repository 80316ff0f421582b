"""A custom image runs its command, without a job having to repeat it: both clouds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import boto3
import pytest

from local_cloud.client.control import Status
from local_cloud.images.build import build
from local_cloud.images.pulled_images import PulledImages
from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.support import ROLE
from tests.lesson_code import LESSON, SERVING_IMAGE, TABLE, TRAINING_IMAGE, preparation

BUCKET = "built-images"
TRAINS, SERVES = "me/trains:1", "me/serves:1"
OWN = "me/built:1"
DOCKERFILE = """
FROM python:3.11-slim
WORKDIR /srv/app
COPY main.py data.txt ./
COPY extra.txt /opt/ml/code/
ENV COLOUR=green SIZE=1
ENTRYPOINT ["python", "main.py"]
CMD ["of-the-image"]
"""
MAIN = """
import json, os, sys
with open("data.txt", "a") as file:
    file.write("changed ")
said = [open("data.txt").read(), *sys.argv[1:], os.environ["COLOUR"], os.environ["SIZE"]]
print(json.dumps(said), os.path.exists("/opt/ml/code/extra.txt"))
"""


@pytest.fixture(scope="module")
def aiplatform(cloud: Status) -> ModuleType:
    from google.cloud import aiplatform, storage

    storage.Client().create_bucket(BUCKET)
    aiplatform.init(project="my-project", location="us-central1", staging_bucket=f"gs://{BUCKET}")
    module: ModuleType = aiplatform
    return module


@pytest.fixture(scope="module", autouse=True)
def images(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("own")
    for name, text in {
        "Dockerfile": DOCKERFILE,
        "main.py": MAIN,
        "data.txt": "data ",
        "extra.txt": "",
    }.items():
        (folder / name).write_text(text)
    kept = PulledImages(cloud.home.images)
    for uri, path, context in (
        (OWN, folder / "Dockerfile", folder),
        (TRAINS, TRAINING_IMAGE, LESSON),
        (SERVES, SERVING_IMAGE, LESSON),
    ):
        build(uri, path, images=kept, say=lambda line: None, context=context)
    yield
    for uri in (OWN, TRAINS, SERVES):
        kept.remove_built(uri)


def last_line(cloud: Status, name: str) -> str:
    (path,) = (cloud.home.data / "jobs").glob(f"*{name}*/*-0.log")
    return path.read_text().splitlines()[-1]


def container_job(aiplatform: ModuleType, uri: str, *args: str, **more: object) -> str:
    """Run one to its end; the name of the job behind it."""
    job = aiplatform.CustomContainerTrainingJob(display_name="own", container_uri=uri)
    job.run(args=list(args), **more)
    backing: str = job._gca_resource.training_task_metadata["backingCustomJob"]
    return backing.rsplit("/", 1)[1]


def test_a_container_job_runs_the_images_command_in_its_folder(
    cloud: Status, aiplatform: ModuleType
) -> None:
    for args, said in (((), ["of-the-image"]), (("--lr", "1"), ["--lr", "1"])):
        name = container_job(aiplatform, OWN, *args, environment_variables={"SIZE": "2"})
        expected = json.dumps(["data changed ", *said, "green", "2"])
        # Each job begins with the image's own files.
        assert last_line(cloud, name).endswith(f"{expected} True")


def test_an_image_of_unknown_command_is_refused_with_what_to_give(aiplatform: ModuleType) -> None:
    job = aiplatform.CustomContainerTrainingJob(display_name="x", container_uri="me/unknown:1")
    with pytest.raises(RuntimeError, match=r"me/unknown:1 is named, not pulled") as refusal:
        job.run()
    said = str(refusal.value)
    assert "give the job a command, a list of words such as python, -m, trainer.task" in said
    assert "`python -m local_cloud images build URI Dockerfile`" in said


def test_the_lessons_image_trains_on_vertex_ai(aiplatform: ModuleType, tmp_path: Path) -> None:
    from google.cloud import storage

    prepared = preparation.prepare(TABLE, tmp_path)
    bucket = storage.Client().bucket(BUCKET)
    for path in (prepared.train, prepared.val):
        bucket.blob(path.name).upload_from_filename(path)
    container_job(
        aiplatform, TRAINS,
        f"--train=/gcs/{BUCKET}/{prepared.train.name}", f"--val=/gcs/{BUCKET}/{prepared.val.name}",
        "--epochs=2", base_output_dir=f"gs://{BUCKET}/trained",
    )  # fmt: skip
    metrics = json.loads(bucket.blob("trained/model/metrics.json").download_as_bytes())
    assert metrics["epochs"]["last"] == 2


def test_the_lessons_images_train_and_serve_on_sagemaker(cloud: Status, tmp_path: Path) -> None:
    prepared = preparation.prepare(TABLE, tmp_path)
    s3, sagemaker = boto3.client("s3"), boto3.client("sagemaker")
    s3.create_bucket(Bucket=BUCKET)
    for path in (prepared.train, prepared.val):
        s3.upload_file(str(path), BUCKET, path.name)
    sagemaker.create_training_job(
        TrainingJobName="own-image",
        AlgorithmSpecification={"TrainingImage": TRAINS, "TrainingInputMode": "File"},
        HyperParameters={
            "train": f"/opt/ml/input/data/rows/{prepared.train.name}",
            "val": f"/opt/ml/input/data/rows/{prepared.val.name}",
            "epochs": "2",
        },
        InputDataConfig=[
            {
                "ChannelName": "rows",
                "DataSource": {
                    "S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/"}
                },
            }
        ],
        RoleArn=ROLE,
        OutputDataConfig={"S3OutputPath": f"s3://{BUCKET}/out"},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        StoppingCondition={"MaxRuntimeInSeconds": 60},
    )
    sagemaker.get_waiter("training_job_completed_or_stopped").wait(
        TrainingJobName="own-image", WaiterConfig={"Delay": 1}
    )
    described = sagemaker.describe_training_job(TrainingJobName="own-image")
    assert described["TrainingJobStatus"] == "Completed", described["FailureReason"]

    model = serving.model(described["ModelArtifacts"]["S3ModelArtifacts"], SERVES)
    with serving.endpoint(serving.configuration(serving.variant(model))) as endpoint:
        (found_one,) = serving.invoke(endpoint, [[0.0] * 7])["Body"]["predictions"]
    assert 0 < found_one["probability"] < 1
