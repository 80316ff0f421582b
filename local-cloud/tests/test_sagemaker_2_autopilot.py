"""AutoML and AutoMLV2 of version 2 of the SageMaker SDK, unchanged: fit, compare, deploy."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from local_cloud.client.control import Status
from testing.other_environments import run_sagemaker_2
from tests.lesson_code import TABLE

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cloud")]

BUCKET = "autopilot-version-2"
CODE = f"""
import json, local_cloud
local_cloud.activate()
import sagemaker
from sagemaker.automl.automl import AutoML
from sagemaker.automl.automlv2 import AutoMLDataChannel, AutoMLTabularConfig, AutoMLV2
from sagemaker.predictor import Predictor
from sagemaker.serializers import CSVSerializer
role = sagemaker.get_execution_role()
table, row = "s3://{BUCKET}/in/titanic_train.csv", "9,1,Somebody,female,30,0,0,A 1,80,,C"

old = AutoML(role, "Survived", output_path="s3://{BUCKET}/out", max_candidates=1,
             problem_type="BinaryClassification", job_objective={{"MetricName": "Accuracy"}})
old.fit(table, logs=False, job_name="version-1")
again = AutoML.attach("version-1")
steps = sagemaker.CandidateEstimator(old.best_candidate()).get_steps()
predictor = old.deploy(1, "ml.m5.large", predictor_cls=Predictor, serializer=CSVSerializer(),
                       inference_response_keys=["predicted_label", "probability"])
answer = predictor.predict(row).decode()
predictor.delete_endpoint()

new = AutoMLV2(AutoMLTabularConfig("Survived", max_candidates=2), role=role,
               output_path="s3://{BUCKET}/out")
# With logs=False it calls a method with an argument that this method does not have.
new.fit(AutoMLDataChannel("S3Prefix", table, channel_type="training"), job_name="version-2")
print("\\nFACTS", json.dumps(dict(
    old=old.describe_auto_ml_job(), again=again.best_candidate(), steps=[one.type for one in steps],
    answer=answer, new=new.describe_auto_ml_job(), listed=len(new.list_candidates()),
), default=str))
"""


@pytest.fixture(scope="module")
def facts(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    s3.upload_file(str(TABLE), BUCKET, "in/titanic_train.csv")
    printed = run_sagemaker_2(CODE, tmp_path_factory.mktemp("autopilot"))
    (line,) = [each for each in printed.splitlines() if each.startswith("FACTS ")]
    content: dict[str, Any] = json.loads(line.removeprefix("FACTS "))
    return content


def test_automl_fits_attaches_and_finds_its_step(facts: dict[str, Any]) -> None:
    old = facts["old"]
    assert (old["AutoMLJobStatus"], old["ProblemType"]) == ("Completed", "BinaryClassification")
    assert old["BestCandidate"]["FinalAutoMLJobObjectiveMetric"]["MetricName"] == "Accuracy"
    assert facts["again"]["CandidateName"] == old["BestCandidate"]["CandidateName"]
    assert facts["steps"] == ["TrainingJob"]


def test_its_endpoint_answers_with_the_keys_that_were_asked_for(facts: dict[str, Any]) -> None:
    label, probability = facts["answer"].strip().split(",")
    assert label == "1"
    assert 0.5 < float(probability) < 1


def test_automl_v2_infers_what_it_was_not_told(facts: dict[str, Any]) -> None:
    new = facts["new"]
    resolved = new["ResolvedAttributes"]
    assert resolved["AutoMLJobObjective"] == {"MetricName": "F1"}
    assert resolved["AutoMLProblemTypeResolvedAttributes"] == {
        "TabularResolvedAttributes": {"ProblemType": "BinaryClassification"}
    }
    assert facts["listed"] == 2
