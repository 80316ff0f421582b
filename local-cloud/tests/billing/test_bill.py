"""The bill and the leak report of things that really run, through the real SDKs."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import pytest
from google.api_core.exceptions import BadRequest

import local_cloud
from local_cloud.billing.removals import CALLS
from local_cloud.client.bill_rows import Bill, Leak, Row
from local_cloud.client.control import Status
from tests.amazon.sagemaker import serving
from tests.google.vertex.pipelines.test_pipelines import pipeline

# A server that is healthy, and no more.
SERVER = """
import http.server, os, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
http.server.HTTPServer(("0.0.0.0", int(os.environ["AIP_HTTP_PORT"])), Answer).serve_forever()
"""


@pytest.fixture(scope="module")
def aiplatform(cloud: Status) -> ModuleType:
    """The SDK, set up with a bucket of this file."""
    from google.cloud import aiplatform, storage

    storage.Client().create_bucket("bill-staging")
    aiplatform.init(project="billed", location="us-central1", staging_bucket="gs://bill-staging")
    module: ModuleType = aiplatform
    return module


def rows_of(name: str) -> list[Row]:
    return [row for row in local_cloud.bill().rows if row.what.endswith(f" {name}")]


def leaks_of(name: str) -> list[Leak]:
    return [leak for leak in local_cloud.bill().leaks if leak.what.endswith(f" {name}")]


def end(name: str) -> None:
    """Run the call of the leak report, as a learner copies it into a cell."""
    (leak,) = leaks_of(name)
    exec(leak.remove, {})
    assert leaks_of(name) == []


def test_a_custom_job_is_on_the_bill_also_when_it_is_deleted(
    aiplatform: ModuleType, tmp_path: Path
) -> None:
    script = tmp_path / "task.py"
    script.write_text("print('done')")
    job = aiplatform.CustomJob.from_local_script(
        display_name="billed",
        script_path=str(script),
        container_uri="us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest",
        machine_type="n1-standard-4",
        replica_count=2,
    )
    job.run()
    first, second = rows_of(job.name)  # two pools: the SDK has one replica in the first
    assert first.on == second.on == "1 × n1-standard-4" and first.until
    assert first.quantity == pytest.approx(30 / 3600)  # it took less than a half minute
    assert first.dollars == pytest.approx(0.21849885 * 30 / 3600) and first.read == "2026-10-07"
    job.delete()
    assert rows_of(job.name) == [first, second]


def test_an_endpoint_of_vertex_ai_costs_until_the_reports_call_has_removed_it(
    aiplatform: ModuleType,
) -> None:
    model = aiplatform.Model.upload(
        display_name="answers",
        serving_container_image_uri="us-docker.pkg.dev/billed/images/answers:1",
        serving_container_command=[sys.executable, "-c", SERVER],
        serving_container_predict_route="/predict",
        serving_container_health_route="/",
    )
    endpoint = model.deploy(machine_type="n1-standard-4", min_replica_count=2)
    (leak,) = leaks_of(endpoint.name)
    assert leak.dollars_per_day == pytest.approx(2 * 24 * 0.2190)
    end(endpoint.name)
    (row,) = rows_of(endpoint.name)
    assert row.until and row.dollars and row.on == "2 × n1-standard-4"


def test_jobs_that_hang_are_ended_by_the_reports_calls(
    aiplatform: ModuleType, tmp_path: Path
) -> None:
    script = tmp_path / "task.py"
    script.write_text("import time; time.sleep(60)")
    job = aiplatform.CustomJob.from_local_script(
        display_name="hangs",
        script_path=str(script),
        container_uri="us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest",
        machine_type="n1-highmem-2",
    )
    job.submit()
    ended_by_its_call(job.name, per_day=None)
    boto3.client("s3").create_bucket(Bucket="bill-hangs")
    boto3.client("sagemaker").create_training_job(
        TrainingJobName="hangs",
        AlgorithmSpecification={
            "TrainingImage": serving.IMAGE,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["sh", "-c", "trap exit TERM; sleep 60 & wait"],
        },
        RoleArn=serving.ROLE,
        OutputDataConfig={"S3OutputPath": "s3://bill-hangs"},
        ResourceConfig={
            "InstanceType": "ml.m5.large",
            "InstanceCount": 1,
            "VolumeSizeInGB": 1,
        },
        StoppingCondition={"MaxRuntimeInSeconds": 60},
    )
    ended_by_its_call("hangs", per_day=24 * 0.115)


def test_a_trial_is_on_the_bill_and_ended_with_its_study(
    aiplatform: ModuleType, tmp_path: Path
) -> None:
    from google.cloud.aiplatform import hyperparameter_tuning

    script = tmp_path / "task.py"
    script.write_text("import time; time.sleep(60)")
    trial = aiplatform.CustomJob.from_local_script(
        display_name="trial",
        script_path=str(script),
        container_uri="us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest",
        machine_type="n1-standard-8",
    )
    study = aiplatform.HyperparameterTuningJob(
        display_name="study",
        custom_job=trial,
        metric_spec={"loss": "minimize"},
        parameter_spec={"rate": hyperparameter_tuning.DoubleParameterSpec(0, 1, "linear")},
        max_trial_count=3,
        parallel_trial_count=1,
    )
    study.run(sync=False)
    study.wait_for_resource_creation()

    def trials() -> list[Leak]:
        return [leak for leak in local_cloud.bill().leaks if leak.kind == "tuning trial"]

    while not trials():
        time.sleep(0.02)
    (leak,) = trials()
    assert leak.dollars_per_day == pytest.approx(24 * 2 * 0.21849885)
    exec(leak.remove, {})
    while trials():
        time.sleep(0.02)


def test_an_endpoint_of_sagemaker_costs_until_the_reports_call_has_deleted_it(
    cloud: Status,
) -> None:
    boto3.client("s3").create_bucket(Bucket=serving.BUCKET)  # there already, if others ran first
    program = "def model_fn(folder):\n    return None\n"
    model = serving.model(serving.put({"code/inference.py": program}))
    config = serving.configuration(serving.variant(model, InitialInstanceCount=1))
    name = serving.named("billed")
    boto3.client("sagemaker").create_endpoint(EndpointName=name, EndpointConfigName=config)
    serving.settled(name)
    assert leaks_of(name)[0].dollars_per_day == pytest.approx(24 * 0.115)
    end(name)
    (row,) = rows_of(name)
    assert row.until and row.quantity >= 1 / 3600


def test_a_query_is_billed_by_the_bytes_of_the_columns_that_it_reads(cloud: Status) -> None:
    from google.cloud import bigquery

    with bigquery.Client(project="billed") as client:
        client.create_dataset("bill", exists_ok=True)
        client.query("CREATE OR REPLACE TABLE bill.t AS SELECT 1 AS a, 'x' AS b").result()
        job = client.query("SELECT a FROM bill.t")
        assert [row.a for row in job.result()] == [1]
        assert job.total_bytes_billed == 10 * 2**20
        failed = client.query("SELECT nothing FROM bill.t")
        with pytest.raises(BadRequest):
            failed.result()
        assert rows_of(failed.job_id) == []
    (row,) = rows_of(job.job_id)
    assert row.dollars == pytest.approx(6.25 * 10 / 2**20) and row.unit == "TiB"


def test_a_training_of_bigquery_ml_is_billed_at_a_rate_of_its_own(cloud: Status) -> None:
    from google.cloud import bigquery

    with bigquery.Client(project="billed") as client:
        client.create_dataset("bill", exists_ok=True)
        rows = "SELECT * FROM UNNEST(GENERATE_ARRAY(1, 20)) AS x"
        client.query(f"CREATE OR REPLACE TABLE bill.line AS {rows}").result()
        train = "OPTIONS(model_type='linear_reg') AS SELECT x, 2 * x AS label FROM bill.line"
        job = client.query(f"CREATE OR REPLACE MODEL bill.m {train}")
        job.result()
        assert (job.total_bytes_processed, job.total_bytes_billed) == (160, 10 * 2**20)
        (row,) = rows_of(job.job_id)
        assert row.what.startswith("CREATE MODEL ")
        assert row.dollars == pytest.approx(312.5 * 10 / 2**20)
        again = client.query(f"CREATE MODEL IF NOT EXISTS bill.m {train}")
        again.result()
        assert rows_of(again.job_id) == []  # it trains nothing


def test_each_run_of_a_pipeline_costs_its_fee(aiplatform: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "pipeline.json"
    file.write_text(json.dumps(pipeline({"only": ("true", {})})))
    job = aiplatform.PipelineJob("fee", str(file), pipeline_root="gs://bill-staging/root")
    job.submit()
    (row,) = [row for row in rows_of(job.name) if row.what.startswith("pipeline run")]
    assert (row.cloud, row.quantity, row.dollars) == ("Vertex AI", 1, 0.03)
    job.wait()
    job.delete()
    assert row in rows_of(job.name)


def test_the_command_prints_the_bill_and_its_json(cloud: Status) -> None:
    boto3.client("s3").create_bucket(Bucket="bill-command")
    boto3.client("s3").put_object(Bucket="bill-command", Key="a", Body=b"a" * 1000)

    def command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "local_cloud", *words],
            capture_output=True,
            text=True,
            env=os.environ | environment,
        )

    printed = command("bill").stdout
    assert "bucket s3://bill-command" in printed and "\ntotal " in printed
    assert 'boto3.resource("s3").Bucket("bill-command")' in printed
    document = json.loads(command("bill", "--json").stdout)
    assert Bill.of(document).dollars == pytest.approx(document["dollars"])
    wrong = command("status", "--json")
    assert wrong.returncode == 2 and "only bill is printed as JSON" in wrong.stderr
    cloudy = command("bill", LOCAL_CLOUD_TARGET="cloud")
    assert cloudy.returncode == 1 and "the service's own billing report" in cloudy.stderr


def ended_by_its_call(job: str, per_day: float | None) -> None:
    """The job is a leak when its turn has come, and none soon after it is asked to end."""
    while not leaks_of(job):
        time.sleep(0.02)
    (leak,) = leaks_of(job)
    assert leak.dollars_per_day == (per_day and pytest.approx(per_day))
    exec(leak.remove, {})
    while leaks_of(job):
        time.sleep(0.02)
    (row,) = rows_of(job)
    assert bool(row.dollars) == bool(per_day)


@pytest.mark.parametrize("call", CALLS.values())
def test_every_call_of_a_report_is_one_of_the_sdk(aiplatform: ModuleType, call: str) -> None:
    statement = ast.parse(call.format("x")).body[-1]
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    function = statement.value.func
    assert isinstance(function, ast.Attribute)
    if "boto3" in call:
        client = boto3.client("sagemaker")
        operation = client.meta.method_to_api_mapping[function.attr]
        (given,) = statement.value.keywords
        assert given.arg in client.meta.service_model.operation_model(operation).input_shape.members
    else:
        kind = call.partition("aiplatform; aiplatform.")[2].partition("(")[0].removesuffix(".get")
        assert callable(getattr(getattr(aiplatform, kind), function.attr))


def test_every_other_call_of_the_report_ends_what_it_is_for(aiplatform: ModuleType) -> None:
    from google.cloud import storage

    client = boto3.client("sagemaker")
    client.create_notebook_instance(
        NotebookInstanceName="forgotten", InstanceType="ml.t3.medium", RoleArn=serving.ROLE
    )
    end("forgotten")
    storage.Client().create_bucket("bill-day").blob("a").upload_from_string("a" * 1000)
    assert leaks_of("gs://bill-day")[0].on == "0.000954 MB"
    end("gs://bill-day")
    boto3.client("s3").create_bucket(Bucket="bill-day")
    boto3.client("s3").put_object(Bucket="bill-day", Key="a", Body=b"a")
    end("s3://bill-day")


def test_a_notebook_instance_costs_from_start_to_stop_alone(cloud: Status) -> None:
    client: Any = boto3.client("sagemaker")
    client.create_notebook_instance(
        NotebookInstanceName="restarted", InstanceType="ml.t3.medium", RoleArn=serving.ROLE
    )
    client.stop_notebook_instance(NotebookInstanceName="restarted")
    client.update_notebook_instance(NotebookInstanceName="restarted", InstanceType="ml.p5.48xlarge")
    assert len(rows_of("restarted")) == 1 and leaks_of("restarted") == []
    client.start_notebook_instance(NotebookInstanceName="restarted")
    first, second = rows_of("restarted")
    assert (first.on, second.on) == ("1 × ml.t3.medium", "1 × ml.p5.48xlarge")
    assert first.dollars and second.dollars is None
    assert leaks_of("restarted")[0].dollars_per_day is None
    client.stop_notebook_instance(NotebookInstanceName="restarted")
    client.delete_notebook_instance(NotebookInstanceName="restarted")
    assert len(rows_of("restarted")) == 2


def test_what_is_rented_stays_rented_when_the_server_is_killed(cloud: Status) -> None:
    boto3.client("sagemaker").create_notebook_instance(
        NotebookInstanceName="survivor", InstanceType="ml.t3.medium", RoleArn=serving.ROLE
    )
    (before,) = rows_of("survivor")
    os.kill(local_cloud.status().facts["pid"], signal.SIGKILL)
    while local_cloud.status().home.running():
        time.sleep(0.02)
    (after,) = rows_of("survivor")  # starts the local cloud again
    assert after.since == before.since and after.until is None
    end("survivor")
