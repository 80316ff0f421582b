"""Version 2 of the SageMaker SDK, in an environment of its own, trains here unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pytest

from local_cloud.client.control import Status
from testing.other_environments import results, run_sagemaker_2
from tests.lesson_code import TRAINING, serve_nn

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cloud")]

BUCKET = "version-2"
OPENING = f"""
import json, os, sys, local_cloud
local_cloud.activate()
import sagemaker
from sagemaker.pytorch import PyTorch
role = sagemaker.get_execution_role()

def estimator(entry_point, **more):
    wanted = dict(framework_version="2.5.1", py_version="py311", instance_count=1) | more
    # The SDK takes torch_distributed for instances with a GPU only.
    machine = "ml.g4dn.xlarge" if wanted.get("distribution") else "ml.m5.xlarge"
    return PyTorch(entry_point=entry_point, role=role, instance_type=machine,
                   output_path="s3://{BUCKET}/out", code_location="s3://{BUCKET}/code", **wanted)

def tell(**facts):
    print("\\nFACTS", json.dumps(facts, default=str))
"""


def facts(printed: str) -> dict[str, Any]:
    """What the code told."""
    lines = [line for line in printed.splitlines() if line.startswith("FACTS ")]
    return {name: fact for line in lines for name, fact in json.loads(line[6:]).items()}


@pytest.fixture(scope="module")
def folder(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small set to train on, which is in the bucket, too."""
    made = tmp_path_factory.mktemp("version 2")
    rows = np.random.default_rng(0).normal(size=(120, 7)).astype(np.float32)
    labels = (rows.sum(axis=1) > 0).astype(np.float32)
    np.savez(made / "train_data.npz", X_train=rows[:90], y_train=labels[:90])
    np.savez(made / "val_data.npz", X_val=rows[90:], y_val=labels[90:])
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    for name in ("train", "val"):
        s3.upload_file(str(made / f"{name}_data.npz"), BUCKET, f"in/{name}_data.npz")
    return made


@pytest.fixture(scope="module")
def trained(folder: Path) -> dict[str, Any]:
    """train_nn.py on one and on two instances, with and without torch_distributed."""
    code = f"""
{OPENING}
channels = {{"train": "s3://{BUCKET}/in/train_data.npz", "val": "s3://{BUCKET}/in/val_data.npz"}}
data = {{"train": "/opt/ml/input/data/train/train_data.npz",
        "val": "/opt/ml/input/data/val/val_data.npz"}}
torch_distributed = {{"torch_distributed": {{"enabled": True}}}}
for name, count, how in (
    ("one", 1, None), ("two", 2, None), ("torchrun", 1, torch_distributed),
    ("torchrun on two", 2, torch_distributed),
):
    made = estimator("train_nn.py", source_dir={str(TRAINING)!r}, instance_count=count,
                     distribution=how, hyperparameters=data | {{"epochs": 20, "seed": 3}},
                     metric_definitions=[{{"Name": "validation:accuracy",
                                          "Regex": "validation:accuracy = (.*?)$"}}])
    made.fit(channels)
    found = made.latest_training_job.describe()
    tell(**{{name: dict(model=made.model_data, status=found["TrainingJobStatus"],
                      job=made.latest_training_job.name, metrics=found["FinalMetricDataList"])}})
attached = PyTorch.attach(made.latest_training_job.name)
assert attached.model_data == made.model_data
tell(analytics=made.training_job_analytics.dataframe().to_dict("records"))
"""
    printed = run_sagemaker_2(code, folder)
    return {"printed": printed, **facts(printed)}


def test_analytics_have_what_the_job_reported(trained: dict[str, Any]) -> None:
    """They are averages of a minute each, which CloudWatch has."""
    assert trained["analytics"]
    for row in trained["analytics"]:
        assert row["metric_name"] == "validation:accuracy"
        assert 0 <= row["value"] <= 1


def test_the_logs_are_printed_while_the_job_runs(trained: dict[str, Any]) -> None:
    printed = trained["printed"]
    assert printed.count("Training seconds: ") == 4
    assert printed.count("replica 1 of 2, rows") == 2
    # Each job's log is printed whole, and no line twice: rank 0 writes this one.
    assert printed.count("validation:accuracy = ") == 4


@pytest.mark.parametrize(
    ("name", "world_size"), [("one", 1), ("two", 2), ("torchrun", 1), ("torchrun on two", 2)]
)
def test_however_it_is_sent_it_is_one_model(
    trained: dict[str, Any], name: str, world_size: int
) -> None:
    metrics, weights = results(trained[name]["model"])
    _, weights_of_one = results(trained["one"]["model"])
    assert metrics["world_size"] == world_size
    for part, tensor in weights.items():
        np.testing.assert_allclose(tensor, weights_of_one[part], rtol=0, atol=1e-5)
    (metric,) = trained[name]["metrics"]
    assert metric["MetricName"] == "validation:accuracy"
    assert metric["Value"] == pytest.approx(metrics["accuracy"], abs=1e-4)


@pytest.fixture(scope="module")
def others(folder: Path) -> dict[str, Any]:
    """A job that fails, one that is stopped, and what is asked without a job."""
    (folder / "fails.py").write_text("print('so far')\nraise ValueError('no data')\n")
    (folder / "sleeps.py").write_text("import time\nprint('asleep', flush=True)\ntime.sleep(600)\n")
    code = f"""
{OPENING}
from sagemaker.exceptions import UnexpectedStatusException
try:
    estimator("fails.py").fit()
except UnexpectedStatusException as problem:
    tell(failed=dict(message=str(problem), status=problem.actual_status))

made = estimator("sleeps.py")
made.fit(wait=False)
session, job = made.sagemaker_session, made.latest_training_job
while job.describe()["SecondaryStatus"] != "Training":
    continue
session.stop_training_job(job.name)
job.wait(logs="None")
tell(stopped=job.describe())

images = [
    sagemaker.image_uris.retrieve("pytorch", "us-east-1", version=version, py_version=python,
                                  instance_type="ml.m5.large", image_scope="training")
    for version, python in (("1.9", "py38"), ("2.5.1", "py311"))
]
tell(images=images, bucket=session.default_bucket(), region=session.boto_region_name)
"""
    printed = run_sagemaker_2(code, folder)
    return {"printed": printed, **facts(printed)}


def test_a_failure_says_why_and_its_log_is_printed(others: dict[str, Any]) -> None:
    assert others["failed"]["status"] == "Failed"
    assert "ValueError: no data" in others["failed"]["message"]
    assert "so far" in others["printed"]
    assert "Traceback (most recent call last)" in others["printed"]


def test_a_job_is_stopped(others: dict[str, Any]) -> None:
    assert others["stopped"]["TrainingJobStatus"] == "Stopped"
    assert others["stopped"]["SecondaryStatus"] == "Stopped"


def test_images_are_named_as_the_service_names_them(others: dict[str, Any]) -> None:
    registry = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:"
    old, new = others["images"]
    assert old.startswith(registry + "1.9") and new.startswith(registry + "2.5.1")


def test_a_session_knows_where_it_is(others: dict[str, Any]) -> None:
    assert others["region"] == "us-east-1"
    assert others["bucket"] == "sagemaker-us-east-1-000000000000"


def test_a_model_is_registered_and_approved(folder: Path) -> None:
    code = f"""
{OPENING}
from sagemaker.model import Model
image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-inference:2.5.1-cpu-py311"
model = Model(image_uri=image, model_data="s3://{BUCKET}/in/train_data.npz", role=role,
              sagemaker_session=sagemaker.Session())
package = model.register(content_types=["text/csv"], response_types=["text/csv"],
                         model_package_group_name="version-2")
package.update_approval_status("Approved")
tell(arn=package.model_package_arn)
"""
    arn = facts(run_sagemaker_2(code, folder))["arn"]
    package = boto3.client("sagemaker").describe_model_package(ModelPackageName=arn)
    assert (package["ModelPackageGroupName"], package["ModelPackageVersion"]) == ("version-2", 1)
    assert package["ModelApprovalStatus"] == "Approved"


def test_a_tuner_tries_and_finds(folder: Path) -> None:
    """Its hyperparameters are JSON, as all that version 2 sends."""
    (folder / "tried.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "for name in ('rate', 'width', 'kind', 'epochs'):\n    parser.add_argument('--' + name)\n"
        "flags = parser.parse_args()\nassert flags.kind in ('a', 'b') and int(flags.width)\n"
        "print('distance =', abs(float(flags.rate) - 3))\n"
    )
    code = f"""
{OPENING}
from sagemaker.tuner import CategoricalParameter, ContinuousParameter, HyperparameterTuner
from sagemaker.tuner import IntegerParameter
space = {{"rate": ContinuousParameter(0.1, 10), "width": IntegerParameter(4, 64),
         "kind": CategoricalParameter(["a", "b"])}}
tuner = HyperparameterTuner(
    estimator("tried.py", hyperparameters={{"epochs": 5}}), "distance", space,
    metric_definitions=[{{"Name": "distance", "Regex": "distance = (.*)"}}],
    objective_type="Minimize", max_jobs=4, max_parallel_jobs=2, random_seed=7)
tuner.fit(wait=False)
tuner.wait()
table = tuner.analytics().dataframe()
warm = tuner.identical_dataset_and_algorithm_tuner()
warm.max_jobs, warm.metric_definitions = 1, tuner.metric_definitions  # not handed on
warm.base_tuning_job_name = "warm"  # the names that it makes change once a minute
warm.fit()
tell(tried=dict(job=tuner.describe(), best=tuner.best_training_job(),
               values=list(table["FinalObjectiveValue"]), rates=list(table["rate"]),
               model=tuner.best_estimator().model_data, warm=warm.describe()))
"""
    tried = facts(run_sagemaker_2(code, folder))["tried"]
    assert tried["job"]["HyperParameterTuningJobStatus"] == "Completed"
    for value, rate in zip(tried["values"], tried["rates"], strict=True):
        assert value == pytest.approx(abs(float(rate) - 3))
    best = tried["job"]["BestTrainingJob"]
    assert best["TrainingJobName"] == tried["best"]
    final = best["FinalHyperParameterTuningJobObjectiveMetric"]
    assert final["Value"] == min(tried["values"])
    assert tried["best"] in tried["model"]
    assert tried["warm"]["HyperParameterTuningJobStatus"] == "Completed"
    assert tried["warm"]["OverallBestTrainingJob"]["TrainingJobName"]


@pytest.fixture(scope="module")
def served(trained: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A model of PyTorchModel, one of an estimator and one of a package, each asked and deleted."""
    code = f"""
{OPENING}
import time
import numpy as np
from sagemaker.deserializers import CSVDeserializer, JSONDeserializer
from sagemaker.model import ModelPackage
from sagemaker.pytorch import PyTorchModel
from sagemaker.serializers import CSVSerializer, JSONSerializer
from botocore.exceptions import ClientError
session = sagemaker.Session()
data = {trained["one"]["model"]!r}
rows = np.load({str(folder / "val_data.npz")!r})["X_val"][:5].tolist()

def ask(name, predictor):
    while (found := predictor.sagemaker_session.describe_endpoint(predictor.endpoint_name)
           )["EndpointStatus"] == "Creating":
        time.sleep(0.1)
    assert found["EndpointStatus"] == "InService", found
    tell(**{{name: predictor.predict(rows)}})

def pytorch_model():
    return PyTorchModel(model_data=data, role=role, framework_version="2.5.1", py_version="py311",
                        entry_point="inference.py", source_dir={str(TRAINING)!r},
                        code_location="s3://{BUCKET}/served", sagemaker_session=session)

asked = dict(initial_instance_count=1, instance_type="ml.m5.large", wait=False,
             serializer=JSONSerializer(), deserializer=JSONDeserializer())
model = pytorch_model()
predictor = model.deploy(**asked)
ask("model", predictor)
predictor.serializer, predictor.deserializer = CSVSerializer(), CSVDeserializer()
tell(csv=predictor.predict(rows))
try:
    predictor.predict([[1, 2]])
except ClientError as problem:
    tell(refused=problem.response["OriginalMessage"], status=problem.response["OriginalStatusCode"])
predictor.delete_model()
predictor.delete_endpoint()

made = PyTorch.attach({trained["one"]["job"]!r})
predictor = made.deploy(entry_point="inference.py", source_dir={str(TRAINING)!r}, **asked)
ask("estimator", predictor)
predictor.delete_predictor()

package = pytorch_model().register(
    content_types=["application/json"], response_types=["application/json"],
    inference_instances=["ml.m5.large"], transform_instances=["ml.m5.large"],
    model_package_group_name="version-2-served", approval_status="Approved",
    image_uri=model.serving_image_uri("us-east-1", "ml.m5.large"))
found = ModelPackage(role=role, model_package_arn=package.model_package_arn,
                     sagemaker_session=session)
found.deploy(initial_instance_count=1, instance_type="ml.m5.large", wait=False,
             endpoint_name="of-a-package")
ask("package", sagemaker.predictor.Predictor(
    "of-a-package", session, JSONSerializer(), JSONDeserializer()))
session.delete_endpoint("of-a-package")

table = "\\n".join(",".join(map(str, row)) for row in rows)
session.upload_string_as_file_body(table, "{BUCKET}", "table/rows.csv")
transformer = pytorch_model().transformer(
    1, "ml.m5.large", output_path="s3://{BUCKET}/scored", accept="text/csv", assemble_with="Line")
transformer.transform("s3://{BUCKET}/table/", content_type="text/csv", split_type="Line")
scored = session.read_s3_file("{BUCKET}", "scored/rows.csv.out")
tell(scored=[float(line.split(",")[0]) for line in scored.splitlines()])
"""
    return facts(run_sagemaker_2(code, folder))


@pytest.fixture(scope="module")
def expected(trained: dict[str, Any], folder: Path) -> list[float]:
    """The model's own probabilities."""

    _, weights = results(trained["one"]["model"])
    hidden = [len(bias) for name, bias in weights.items() if name.endswith("bias")][:-1]
    saved = {"features": 7, "hidden": hidden, "model": weights}
    rows = np.load(folder / "val_data.npz")["X_val"][:5]
    model = serve_nn.Predictor(saved, serve_nn.load_code(folder))
    return [each["probability"] for each in model.predictions(rows)]


@pytest.mark.parametrize("way", ["model", "estimator", "package"])
def test_what_is_deployed_predicts_as_the_model_does(
    served: dict[str, Any], expected: list[float], way: str
) -> None:
    probabilities = [each["probability"] for each in served[way]["predictions"]]
    assert probabilities == pytest.approx(expected, abs=1e-6)


def test_a_transformer_scores_a_file(served: dict[str, Any], expected: list[float]) -> None:
    assert served["scored"] == pytest.approx(expected, abs=1e-6)


def test_csv_and_a_refusal_pass_through_the_predictor(
    served: dict[str, Any], expected: list[float]
) -> None:
    assert [float(row[0]) for row in served["csv"]] == pytest.approx(expected, abs=1e-6)
    assert served["status"] == 400
    assert "it has 2 values; give 7" in served["refused"]
