"""The built-in XGBoost in the image's environment: trained, tuned, served and scored with it."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import tarfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from local_cloud.client.control import Status
from local_cloud.images.pulled_images import PulledImages
from local_cloud.images.table import BY_NAME
from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.serving import CSV, JSON, ROLE

pytestmark = [
    pytest.mark.slow,
    # The SDK leaves its temporary folders to the garbage collector.
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]
ROOT = Path(__file__).parents[4]
NAME, BUCKET = "sagemaker-xgboost:3.0-5", "built-in-xgboost"
HYPERPARAMETERS = {
    "objective": "reg:squarederror",
    "num_round": "5",
    "eta": "0.5",
    "max_depth": "3",
    "seed": "1",
}
# The same with XGBoost alone, from the files of the test.
REFERENCE = """
import json, sys
import numpy as np, xgboost
train, validation = (np.loadtxt(path, delimiter=",", dtype="float32") for path in sys.argv[1:3])
data = xgboost.DMatrix(train[:, 1:], label=train[:, 0])
booster = xgboost.train(json.loads(sys.argv[3]), data, num_boost_round=5)
found = booster.predict(xgboost.DMatrix(validation[:, 1:])).tolist()
rmse = float(np.sqrt(np.mean((np.array(found) - validation[:, 0]) ** 2)))
print(json.dumps({"predictions": found, "rmse": rmse}))
"""


@pytest.fixture(scope="module")
def image(cloud: Status) -> Iterator[str]:
    """The image's URI, as the SDK finds it; pulled as a learner does it."""
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        from sagemaker.core import image_uris

    words = [sys.executable, "-m", "local_cloud", "images", "pull", NAME]
    subprocess.run(words, cwd=ROOT, check=True)
    yield str(image_uris.retrieve("xgboost", "us-east-1", version="3.0-5"))
    PulledImages(cloud.home.images).remove(BY_NAME[NAME])


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tables with the label first, also in S3 below their names."""
    chance, folder, s3 = random.Random(1), tmp_path_factory.mktemp("rows"), boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    tables = {}
    for name, count in (("train", 200), ("validation", 50)):
        features = [(chance.random(), chance.random()) for _ in range(count)]
        lines = [f"{3 * a + b},{a},{b}\n" for a, b in features]
        tables[name] = folder / f"{name}.csv"
        tables[name].write_text("".join(lines))
        s3.upload_file(str(tables[name]), BUCKET, f"{name}/rows.csv")
    return tables


@pytest.fixture(scope="module")
def reference(cloud: Status, image: str, rows: dict[str, Path]) -> Any:
    python = (
        PulledImages(cloud.home.images).folder / BY_NAME[NAME].folder / "environment/bin/python"
    )
    parameters = {name: value for name, value in HYPERPARAMETERS.items() if name != "num_round"}
    words = [python, "-c", REFERENCE, rows["train"], rows["validation"], json.dumps(parameters)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


@pytest.fixture(scope="module")
def trained(image: str, rows: dict[str, Path]) -> Any:
    """The description of a job that the SDK's version 3 has sent, without any source code."""
    with warnings.catch_warnings(action="ignore"):
        from sagemaker.core.training import configs
        from sagemaker.train import ModelTrainer

    trainer = ModelTrainer(
        training_image=image,
        hyperparameters=HYPERPARAMETERS,
        compute=configs.Compute(instance_type="ml.m5.large", instance_count=1),
        output_data_config=configs.OutputDataConfig(s3_output_path=f"s3://{BUCKET}/out"),
        base_job_name="built-in",
    )
    inputs = [
        configs.InputData(
            channel_name=name, data_source=f"s3://{BUCKET}/{name}", content_type="text/csv"
        )
        for name in rows
    ]
    trainer.train(input_data_config=inputs, wait=False)
    return ended(trainer._latest_training_job.training_job_name)


def ended(name: str, status: str = "Completed") -> Any:
    client, end = boto3.client("sagemaker"), time.monotonic() + 120
    while time.monotonic() < end:
        job = client.describe_training_job(TrainingJobName=name)
        if job["TrainingJobStatus"] != "InProgress":
            assert job["TrainingJobStatus"] == status, job.get("FailureReason")
            return job
        time.sleep(0.1)
    raise AssertionError(job)


def test_a_job_without_a_script_reports_and_leaves_the_model(trained: Any, reference: Any) -> None:
    metrics = {each["MetricName"]: each["Value"] for each in trained["FinalMetricDataList"]}
    assert metrics == {"validation:rmse": pytest.approx(reference["rmse"], abs=1e-5)}
    stream = f"{trained['TrainingJobName']}/algo-1"
    logs = boto3.client("logs")
    (streams,) = logs.describe_log_streams(
        logGroupName="/aws/sagemaker/TrainingJobs", logStreamNamePrefix=stream
    )["logStreams"]
    events = logs.get_log_events(
        logGroupName="/aws/sagemaker/TrainingJobs", logStreamName=streams["logStreamName"]
    )["events"]
    (first,) = [each["message"] for each in events if each["message"].startswith("[0]")]
    assert first.startswith("[0]#011train-rmse:")
    bucket, _, key = trained["ModelArtifacts"]["S3ModelArtifacts"][5:].partition("/")
    body = boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        assert [each.name for each in archive if each.isfile()] == ["xgboost-model"]


def test_an_endpoint_takes_csv_and_answers_csv(
    trained: Any, reference: Any, image: str, rows: dict[str, Path]
) -> None:
    lines = [line.partition(",")[2] for line in rows["validation"].read_text().splitlines()]
    body = "\n".join(lines)
    made = serving.model(trained["ModelArtifacts"]["S3ModelArtifacts"], image)
    with serving.endpoint(serving.configuration(serving.variant(made))) as endpoint:
        answer = serving.invoke(endpoint, None, ContentType=CSV, Body=body)
        assert answer["ContentType"] == CSV
        numbers = [float(line) for line in answer["Body"].splitlines()]
        assert numbers == pytest.approx(reference["predictions"], abs=1e-6)
        answer = serving.invoke(endpoint, None, ContentType=CSV, Accept=JSON, Body=lines[0])
        expected = pytest.approx(reference["predictions"][0], abs=1e-6)
        assert answer["Body"] == {"predictions": [{"score": expected}]}
        for kind, content, words in (
            ("text/libsvm", "0:1", "Content-type text/libsvm is not supported"),
            (CSV, "a,b", "please ensure data is in csv format"),
            (CSV, "1,2,3", "Unable to evaluate payload provided"),
        ):
            with pytest.raises(ClientError, match=words):
                serving.invoke(endpoint, None, ContentType=kind, Body=content)


def test_a_transform_job_writes_a_line_for_each_row(
    trained: Any, reference: Any, image: str, rows: dict[str, Path]
) -> None:
    client, s3 = boto3.client("sagemaker"), boto3.client("s3")
    lines = [line.partition(",")[2] for line in rows["validation"].read_text().splitlines()]
    s3.put_object(Bucket=BUCKET, Key="score/rows.csv", Body="\n".join(lines).encode())
    source = {"S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/score"}
    client.create_transform_job(
        TransformJobName="built-in",
        ModelName=serving.model(trained["ModelArtifacts"]["S3ModelArtifacts"], image),
        TransformInput={
            "DataSource": {"S3DataSource": source},
            "ContentType": CSV,
            "SplitType": "Line",
        },
        TransformOutput={"S3OutputPath": f"s3://{BUCKET}/scored", "AssembleWith": "Line"},
        TransformResources={"InstanceType": serving.MACHINE, "InstanceCount": 1},
    )
    client.get_waiter("transform_job_completed_or_stopped").wait(
        TransformJobName="built-in", WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )
    body = s3.get_object(Bucket=BUCKET, Key="scored/rows.csv.out")["Body"].read()
    numbers = [float(line) for line in body.splitlines()]
    assert numbers == pytest.approx(reference["predictions"], abs=1e-6)


def send(name: str, image: str, **changes: Any) -> str:
    """A job that boto3 sends; changes: of its hyperparameters; kind: of its data."""
    source = {"S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/train"}
    kind = changes.pop("kind", CSV)
    channel = {"ChannelName": "train", "DataSource": {"S3DataSource": source}}
    boto3.client("sagemaker").create_training_job(
        TrainingJobName=name,
        AlgorithmSpecification={"TrainingImage": image, "TrainingInputMode": "File"},
        RoleArn=ROLE,
        InputDataConfig=[channel | ({"ContentType": kind} if kind else {})],
        OutputDataConfig={"S3OutputPath": f"s3://{BUCKET}/out"},
        ResourceConfig={
            "InstanceType": "ml.m5.large",
            "InstanceCount": changes.pop("instances", 1),
            "VolumeSizeInGB": 1,
        },
        StoppingCondition={"MaxRuntimeInSeconds": 600},
        HyperParameters={
            key: value for key, value in (HYPERPARAMETERS | changes).items() if value is not None
        },
    )
    return name


def test_a_tuning_job_needs_no_metric_definitions(image: str, rows: dict[str, Path]) -> None:
    client = boto3.client("sagemaker")
    channels = [
        {
            "ChannelName": name,
            "ContentType": CSV,
            "DataSource": {
                "S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/{name}"}
            },
        }
        for name in rows
    ]
    name = {"HyperParameterTuningJobName": "built-in"}
    client.create_hyper_parameter_tuning_job(
        **name,
        HyperParameterTuningJobConfig={
            "Strategy": "Bayesian",
            "HyperParameterTuningJobObjective": {
                "Type": "Minimize",
                "MetricName": "validation:mae",
            },
            "ResourceLimits": {"MaxNumberOfTrainingJobs": 3, "MaxParallelTrainingJobs": 1},
            "ParameterRanges": {
                "ContinuousParameterRanges": [{"Name": "eta", "MinValue": "0", "MaxValue": "1"}]
            },
        },
        TrainingJobDefinition={
            "StaticHyperParameters": {k: v for k, v in HYPERPARAMETERS.items() if k != "eta"},
            "AlgorithmSpecification": {"TrainingImage": image, "TrainingInputMode": "File"},
            "RoleArn": ROLE,
            "InputDataConfig": channels,
            "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/tuned"},
            "ResourceConfig": {
                "InstanceType": "ml.m5.large",
                "InstanceCount": 1,
                "VolumeSizeInGB": 1,
            },
            "StoppingCondition": {"MaxRuntimeInSeconds": 600},
        },
    )
    end = time.monotonic() + 120
    while time.monotonic() < end:
        study = client.describe_hyper_parameter_tuning_job(**name)
        if study["HyperParameterTuningJobStatus"] != "InProgress":
            break
        time.sleep(0.1)
    assert study["HyperParameterTuningJobStatus"] == "Completed", study.get("FailureReason")
    assert study["ObjectiveStatusCounters"]["Succeeded"] == 3


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("no-rounds", {"num_round": None}, "Missing required hyperparameter: num_round"),
        ("unknown", {"depth": "3"}, "Extraneous hyperparameter found: depth"),
        ("folds", {"_kfold": "3"}, "_kfold (cross-validation) is not implemented"),
        ("its-own", {"eval_metric": "rmse,f1"}, "The metric f1, which the image calculates"),
        ("libsvm", {"kind": ""}, "text/libsvm is not implemented in the local cloud"),
        ("wrong", {"objective": "reg:nothing"}, "Unknown objective function: `reg:nothing`"),
        ("two", {"instances": 2}, "trains on one instance in the local cloud, not on 2"),
    ],
)
def test_what_it_does_not_take_is_the_reason_of_the_failure(
    image: str, rows: dict[str, Path], name: str, changes: dict[str, Any], words: str
) -> None:
    assert words in ended(send(name, image, **changes), "Failed")["FailureReason"]
