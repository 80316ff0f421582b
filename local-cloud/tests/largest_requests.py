"""The largest requests that each service takes, or refuses: cases for test_largest_requests.py.

What a service has much of is copied in its records: see `fill`.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from local_cloud.client import control
from local_cloud.json_types import Json
from testing.visitor import Visitor
from tests.torture.rig import BUCKET, PARENT, ROLE, Rig, pool

MANY = 48_000  # values in one body, of which 50,000 are taken
ON_LOOP = 4800  # values in a body that is checked on the loop, of which 5,000 are taken
FORM = "application/x-www-form-urlencoded"
TOKEN = "0" * 32
MOST_OBJECTS = 1000  # in a bucket: as many as a page of a list has
STORAGE = f"/storage/v1/b/{BUCKET}"
STORE = f"{PARENT}/metadataStores/default"
BIGQUERY = "/bigquery/v2/projects/torture"
COPY = """
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < :many)
INSERT OR IGNORE INTO record
SELECT kind, replace(name, :id, :id || n), replace(document, :id, :id || n)
FROM record, number WHERE instr(name, :id)
"""


class Case(NamedTuple):
    """One service's largest request of a kind; `send` returns the status of the answer."""

    service: str
    request: str
    size: str
    send: Callable[[Rig], int]


CASES: list[Case] = []


def case(service: str, request: str, size: str) -> Callable[[Callable[[Rig], int]], None]:
    """Take a function among the cases."""

    def add(send: Callable[[Rig], int]) -> None:
        CASES.append(Case(service, request, size, send))

    return add


def read(service: str, request: str, path: str, size: str = "all resources") -> None:
    """Take a GET among the cases."""
    case(service, request, size)(lambda rig: rig.ask("GET", path)[0])


def sagemaker(operation: str, size: str, body: Json) -> None:
    """Take one of SageMaker's operations among the cases."""
    case("SageMaker", operation, size)(lambda rig: rig.sagemaker(operation, body)[0])


def post(service: str, request: str, size: str, *, path: str, body: Json) -> None:
    """Take a POST among the cases."""
    case(service, request, size)(lambda rig: rig.ask("POST", path, body)[0])


# ---- what there is ------------------------------------------------------------------------------
def training(name: str, **changes: Any) -> Json:
    """A request for a training job that does nothing."""
    return {
        "TrainingJobName": name,
        "RoleArn": ROLE,
        "AlgorithmSpecification": {
            "TrainingImage": "i",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["true"],
        },
        "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
        "ResourceConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        **changes,
    }


def compiled(tasks: Json, **components: Any) -> Json:
    """A pipeline job of these tasks, of which the component `leaf` runs a container."""
    return {
        "displayName": "x",
        "pipelineSpec": {
            "schemaVersion": "2.1.0",
            "pipelineInfo": {"name": "x"},
            "root": {"dag": {"tasks": tasks}},
            "components": {"leaf": {"executorLabel": "e"}, **components},
            "deploymentSpec": {
                "executors": {"e": {"container": {"image": "i", "command": ["sleep", "1000"]}}}
            },
        },
        "runtimeConfig": {"gcsOutputDirectory": f"gs://{BUCKET}/x"},
    }


def of_component(name: str, count: int, **more: Any) -> Json:
    """So many tasks of a component."""
    return {f"t{number}": {"componentRef": {"name": name}, **more} for number in range(count)}


def leaves(count: int, **more: Any) -> Json:
    return of_component("leaf", count, **more)


NEVER = {"triggerPolicy": {"condition": "false"}}
METRIC = [{"metricId": "m", "goal": "MAXIMIZE"}]
REAL = [{"parameterId": "p", "doubleValueSpec": {"minValue": 0, "maxValue": 1}}]


def steps(count: int) -> str:
    """A pipeline's definition with so many steps, all of which end at once."""
    equal = {"Type": "Equals", "LeftValue": 1, "RightValue": 1}
    arguments = {"Conditions": [equal], "IfSteps": [], "ElseSteps": []}
    steps_made = [
        {"Name": f"s{number}", "Type": "Condition", "Arguments": arguments}
        for number in range(count)
    ]
    return json.dumps({"Version": "2020-12-01", "Steps": steps_made})


def fill(rig: Rig, many: int) -> None:
    """Make one resource of each kind, and copy it in the records while the server is away."""
    job = rig.send(["true"]).rpartition("/")[2]
    trial = {"metrics": METRIC, "parameters": REAL}
    for path, body in (
        ("/metadataStores?metadataStoreId=default", {}),
        ("/metadataStores/default/artifacts?artifactId=seed", {"metadata": {"a": 1}}),
        ("/metadataStores/default/contexts?contextId=seed", {"displayName": "seed"}),
        ("/endpoints?endpointId=seed", {"displayName": "seed"}),
        ("/pipelineJobs?pipelineJobId=seed", compiled(leaves(1, **NEVER))),
        ("/studies", {"displayName": "seed", "studySpec": trial}),
    ):
        rig.ask("POST", f"{PARENT}{path}", body)
    for number in range(min(many // 5, MOST_OBJECTS)):  # each has a file, and is sent
        rig.ask("POST", f"/upload{STORAGE}/o?uploadType=media&name=object{number}", b"x")
        rig.ask("PUT", f"/aws/{BUCKET}/object{number}", b"x")
    rig.sagemaker("CreateTrainingJob", training("seed"))
    rig.sagemaker("CreateExperiment", {"ExperimentName": "seed"})
    model = {"ModelName": "seed", "ExecutionRoleArn": ROLE, "PrimaryContainer": {"Image": "i"}}
    rig.sagemaker("CreateModel", model)
    made = {"PipelineDefinition": steps(1), "RoleArn": ROLE, "ClientRequestToken": TOKEN}
    rig.sagemaker("CreatePipeline", {"PipelineName": "seed", **made})
    rig.wait(f"projects/torture/locations/us-central1/customJobs/{job}", 60)
    rig.wait("seed", 60)
    rig.stop()
    with closing(sqlite3.connect(rig.home.data / "records.sqlite")) as records, records:
        for name in ("seed", job):
            records.execute(COPY, {"id": name, "many": many})
    rig.start()


# ---- Vertex AI ----------------------------------------------------------------------------------
VERTEX = "Vertex AI"
post(
    VERTEX,
    "customJobs.create",
    f"{ON_LOOP:,} arguments",
    path=f"{PARENT}/customJobs",
    body={"displayName": "x", "jobSpec": {"workerPoolSpecs": [pool(["true"] + ["a"] * ON_LOOP)]}},
)
post(
    VERTEX,
    "customJobs.create",
    "one argument of 1 MB",
    path=f"{PARENT}/customJobs",
    body={"displayName": "x", "jobSpec": {"workerPoolSpecs": [pool(["true", "a" * 1_000_000])]}},
)
post(
    VERTEX,
    "customJobs.create",
    "refused: 3,000 pools",
    path=f"{PARENT}/customJobs",
    body={"displayName": "x", "jobSpec": {"workerPoolSpecs": [pool(["true"])] * 3000}},
)
post(
    VERTEX,
    "hyperparameterTuningJobs.create",
    "1,000 parameters",
    path=f"{PARENT}/hyperparameterTuningJobs",
    body={
        "displayName": "x",
        "maxTrialCount": 1,
        "parallelTrialCount": 1,
        "studySpec": {
            "metrics": METRIC,
            "parameters": [REAL[0] | {"parameterId": f"p{number}"} for number in range(1000)],
        },
        "trialJobSpec": {"workerPoolSpecs": [pool(["true"])]},
    },
)
post(
    VERTEX,
    "pipelineJobs.create",
    "4,900 tasks",
    path=f"{PARENT}/pipelineJobs",
    body=compiled(leaves(4900, **NEVER)),
)
post(
    VERTEX,
    "pipelineJobs.create",
    "refused: 10 in each other, 10 of each",
    path=f"{PARENT}/pipelineJobs",
    body=compiled(
        of_component("c1", 10),
        **{
            f"c{level}": {"dag": {"tasks": of_component(f"c{level + 1}", 10)}}
            for level in range(1, 10)
        },
        c10={"executorLabel": "e"},
    ),
)


@case(VERTEX, "pipelineJobs.create, get, cancel", "1,000 tasks that run side by side")
def _(rig: Rig) -> int:
    status, answer = rig.ask("POST", f"{PARENT}/pipelineJobs", compiled(leaves(1000)))
    name = json.loads(answer)["name"]
    rig.ask("GET", f"/v1/{name}")
    rig.ask("POST", f"/v1/{name}:cancel", {})
    end = time.monotonic() + 120
    while rig.get(f"/v1/{name}")["state"] != "PIPELINE_STATE_CANCELLED":
        assert time.monotonic() < end, "the pipeline job is not cancelled after two minutes"
    return status


post(
    VERTEX,
    "schedules.create",
    f"{ON_LOOP:,} values",
    path=f"{PARENT}/schedules",
    body={
        "displayName": "x",
        "cron": "0 0 1 1 *",
        "maxConcurrentRunCount": 1,
        "createPipelineJobRequest": {
            "parent": PARENT.removeprefix("/v1/"),
            "pipelineJob": compiled(leaves(ON_LOOP // 6, **NEVER)),
        },
    },
)
post(
    VERTEX,
    "endpoints.create",
    f"refused: {MANY:,} shares of traffic",
    path=f"{PARENT}/endpoints",
    body={"displayName": "x", "trafficSplit": {str(number): 0 for number in range(MANY)}},
)
post(
    VERTEX,
    "models.upload",
    f"{MANY:,} arguments",
    path=f"{PARENT}/models:upload",
    body={"model": {"displayName": "m", "containerSpec": {"imageUri": "i", "args": ["a"] * MANY}}},
)
post(
    VERTEX,
    "artifacts.create",
    f"{MANY:,} values",
    path=f"{STORE}/artifacts",
    body={"metadata": {f"a{number}": number for number in range(MANY)}},
)
post(
    VERTEX,
    "contexts.addContextArtifactsAndExecutions",
    f"refused: {MANY:,} names",
    path=f"{STORE}/contexts/seed:addContextArtifactsAndExecutions",
    body={"artifacts": ["x"] * MANY},
)


@case(VERTEX, "tensorboardRuns.write", "5,000 points")
def _(rig: Rig) -> int:
    _, answer = rig.ask("POST", f"{PARENT}/tensorboards", {"displayName": "x"})
    made = json.loads(answer)
    run = f"{made.get('response', made)['name']}/experiments/e1/runs/r1"
    board, _, _ = run.partition("/experiments/")
    rig.ask("POST", f"/v1/{board}/experiments?tensorboardExperimentId=e1", {})
    rig.ask("POST", f"/v1/{board}/experiments/e1/runs?tensorboardRunId=r1", {"displayName": "r"})
    series = {"displayName": "loss", "valueType": "SCALAR"}
    _, answer = rig.ask("POST", f"/v1/{run}/timeSeries", series)
    values = [
        {"step": step, "wallTime": "2026-01-01T00:00:00Z", "scalar": {"value": 1}}
        for step in range(5000)
    ]
    name = json.loads(answer)["name"].rpartition("/")[2]
    data = {"tensorboardTimeSeriesId": name, "valueType": "SCALAR", "values": values}
    body = {"tensorboardRun": run, "timeSeriesData": [data]}
    rig.ask("POST", f"/v1/{run}:write", body)
    return rig.ask("GET", f"/v1/{run}/timeSeries/{name}:read?maxDataPoints=10000")[0]


post(
    VERTEX,
    "endpoints.predict",
    "1.5 MB, no such endpoint",
    path=f"{PARENT}/endpoints/seed:predict",
    body={"instances": [[0.123456] * 5] * 30_000},
)
for noun in ("customJobs", "pipelineJobs", "endpoints", "studies"):
    read(VERTEX, f"{noun}.list", f"{PARENT}/{noun}?pageSize=1000")
read(VERTEX, "artifacts.list", f"{STORE}/artifacts?pageSize=1000")
read(
    VERTEX,
    "customJobs.list",
    f"{PARENT}/customJobs?filter={quote(' AND '.join(['state=JOB_STATE_SUCCEEDED'] * 100))}",
    size="a filter of 100 terms",
)

# ---- Vizier -------------------------------------------------------------------------------------
post(
    "Vizier",
    "studies.create",
    "1,000 parameters",
    path=f"{PARENT}/studies",
    body={
        "displayName": "large",
        "studySpec": {
            "metrics": METRIC,
            "parameters": [
                {"parameterId": f"p{number}", "discreteValueSpec": {"values": [1, 2, 3]}}
                for number in range(1000)
            ],
        },
    },
)


@case("Vizier", "trials.suggest, list", "30 suggestions at once")
def _(rig: Rig) -> int:
    study = {"displayName": "suggest", "studySpec": {"metrics": METRIC, "parameters": REAL}}
    name = json.loads(rig.ask("POST", f"{PARENT}/studies", study)[1])["name"]
    body = {"suggestionCount": 30, "clientId": "a"}
    assert rig.ask("POST", f"/v1/{name}/trials:suggest", body)[0] == 200
    return rig.ask("GET", f"/v1/{name}/trials")[0]


# ---- SageMaker ----------------------------------------------------------------------------------
sagemaker(
    "CreateTrainingJob",
    "100 variables, 100 hyperparameters, 300 KB",
    training(
        "large",
        Environment={f"k{number}": "v" * 512 for number in range(100)},
        HyperParameters={f"k{number}": "v" * 2500 for number in range(100)},
    ),
)
sagemaker(
    "CreateTrainingJob",
    "refused: 15,000 tags",
    training("tags", Tags=[{"Key": f"k{number}", "Value": "v"} for number in range(15_000)]),
)
sagemaker(
    "CreateProcessingJob",
    "refused: 6,000 inputs",
    {"ProcessingJobName": "x", "ProcessingInputs": [{"InputName": f"a{n}"} for n in range(6000)]},
)
sagemaker(
    "CreatePipeline",
    "refused: 8,000 steps",
    {
        "PipelineName": "refused",
        "PipelineDefinition": steps(8000),
        "RoleArn": ROLE,
        "ClientRequestToken": TOKEN,
    },
)


@case("SageMaker", "CreatePipeline, StartPipelineExecution", "500 steps")
def _(rig: Rig) -> int:
    made = {"PipelineDefinition": steps(500), "RoleArn": ROLE, "ClientRequestToken": TOKEN}
    rig.sagemaker("CreatePipeline", {"PipelineName": "large", **made})
    start = {"PipelineName": "large", "ClientRequestToken": TOKEN}
    _, answer = rig.sagemaker("StartPipelineExecution", start)
    status, end = "Executing", time.monotonic() + 120
    while status == "Executing":
        assert time.monotonic() < end, "the execution has not ended after two minutes"
        time.sleep(0.1)
        _, answer_text = rig.sagemaker("DescribePipelineExecution", json.loads(answer))
        status = json.loads(answer_text)["PipelineExecutionStatus"]
    return rig.sagemaker("ListPipelineExecutionSteps", json.loads(answer))[0]


for kind in ("TrainingJobs", "Models", "Experiments", "TrialComponents", "Pipelines"):
    sagemaker(f"List{kind}", "all resources", {"MaxResults": 100})
sagemaker("Search", "all resources", {"Resource": "TrainingJob", "MaxResults": 100})

# ---- Cloud Storage ------------------------------------------------------------------------------
GCS = "Cloud Storage"
read(GCS, "objects.list", f"{STORAGE}/o")
read(GCS, "objects.list with a delimiter", f"{STORAGE}/o?delimiter=1")
read(GCS, "objects.list with a glob", f"{STORAGE}/o?matchGlob={quote('**' + '{a*,?}' * 20)}")
post(
    GCS,
    "objects.compose",
    "refused: 16,000 sources",
    path=f"{STORAGE}/o/made/compose",
    body={"sourceObjects": [{"name": "object1"}] * 16_000},
)


@case(GCS, "batch", "100 calls")
def _(rig: Rig) -> int:
    part = (
        "--b\r\nContent-Type: application/http\r\n\r\n"
        f"PATCH {STORAGE}/o/object1 HTTP/1.1\r\nContent-Type: application/json\r\n\r\n"
        f"{json.dumps({'metadata': {'a': 'b' * 7000}})}\r\n"
    )
    body = (part * 100 + "--b--").encode()
    kind = "multipart/mixed; boundary=b"
    return rig.ask("POST", "/batch/storage/v1", body, **{"Content-Type": kind})[0]


@case(GCS, "objects.insert", "64 MB")
def _(rig: Rig) -> int:
    path = f"/upload{STORAGE}/o?uploadType=media&name=large"
    return rig.ask("POST", path, bytes(64 << 20))[0]


# ---- S3 -----------------------------------------------------------------------------------------
read("S3", "ListObjectsV2", f"/aws/{BUCKET}?list-type=2")


@case("S3", "DeleteObjects", "1,000 keys")
def _(rig: Rig) -> int:
    keys = "".join(f"<Object><Key>object{number}</Key></Object>" for number in range(1000))
    return rig.ask("POST", f"/aws/{BUCKET}?delete", f"<Delete>{keys}</Delete>".encode())[0]


@case("S3", "CompleteMultipartUpload", "refused: 10,000 parts that are not there")
def _(rig: Rig) -> int:
    _, answer = rig.ask("POST", f"/aws/{BUCKET}/made?uploads")
    upload = re.search(rb"<UploadId>(.*?)</UploadId>", answer)
    assert upload
    parts = "".join(
        f'<Part><PartNumber>{number}</PartNumber><ETag>"{number:032x}"</ETag></Part>'
        for number in range(1, 10_001)
    )
    body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
    return rig.ask("POST", f"/aws/{BUCKET}/made?uploadId={upload[1].decode()}", body)[0]


@case("S3", "PutObjectTagging", "refused: 20,000 tags")
def _(rig: Rig) -> int:
    tags = b"<Tag><Key>a</Key><Value>b</Value></Tag>" * 20_000
    body = b"<Tagging><TagSet>" + tags + b"</TagSet></Tagging>"
    return rig.ask("PUT", f"/aws/{BUCKET}/object1?tagging", body)[0]


# ---- BigQuery -----------------------------------------------------------------------------------
def query(rig: Rig, text: str, **more: Any) -> int:
    body = {"query": text, "useLegacySql": False, "timeoutMs": 60_000, **more}
    return rig.ask("POST", f"{BIGQUERY}/queries", body)[0]


@case("BigQuery", "jobs.query", "a list of 5,000 numbers")
def _(rig: Rig) -> int:
    return query(rig, f"SELECT 1 IN ({', '.join(map(str, range(5000)))})")


@case("BigQuery", "jobs.query", "refused: 1 MB of SQL")
def _(rig: Rig) -> int:
    return query(rig, f"SELECT {', '.join(['1'] * 300_000)}", dryRun=True)


@case("BigQuery", "jobs.query", "refused: a sum of 3,000 terms in brackets")
def _(rig: Rig) -> int:
    return query(rig, f"SELECT {'(' * 3000}1{' + 1)' * 3000}")


@case("BigQuery", "jobs.query", "an answer of 50,000 rows")
def _(rig: Rig) -> int:
    rows = "SELECT n, REPEAT('x', 100) AS x FROM UNNEST(GENERATE_ARRAY(1, 50000)) AS n"
    return query(rig, rows, maxResults=50_000)


@case("BigQuery", "tabledata.insertAll", "1,000 rows")
def _(rig: Rig) -> int:
    place = {"projectId": "torture", "datasetId": "d"}
    rig.ask("POST", f"{BIGQUERY}/datasets", {"datasetReference": place})
    table = {
        "tableReference": place | {"tableId": "t"},
        "schema": {"fields": [{"name": "a", "type": "INTEGER"}]},
    }
    rig.ask("POST", f"{BIGQUERY}/datasets/d/tables", table)
    body = {"rows": [{"json": {"a": number}} for number in range(1000)]}
    assert rig.ask("POST", f"{BIGQUERY}/datasets/d/tables/t/insertAll", body)[0] == 200
    return rig.ask("GET", f"{BIGQUERY}/datasets/d/tables/t/data?maxResults=10000")[0]


# ---- the smaller services -----------------------------------------------------------------------
post(
    "Cloud Logging",
    "entries.list",
    "a filter of 20,000 characters",
    path="/v2/entries:list",
    body={
        "resourceNames": ["projects/torture"],
        "filter": " OR ".join(["severity=INFO"] * 1100),
        "pageSize": 1000,
    },
)
post(
    "Cloud Logging",
    "entries.list",
    "refused: a filter of 900,000 characters",
    path="/v2/entries:list",
    body={"resourceNames": ["projects/torture"], "filter": "a=b " * 225_000},
)


@case("CloudWatch Logs", "FilterLogEvents, DescribeLogStreams", "all streams")
def _(rig: Rig) -> int:
    group = {"logGroupName": "/aws/sagemaker/TrainingJobs"}
    for operation in ("DescribeLogStreams", "FilterLogEvents"):
        target = {"X-Amz-Target": f"Logs_20140328.{operation}"}
        status, _ = rig.ask("POST", "/aws/", group, **target)
    return status


@case("IAM", "CreateRole, ListRoles", "a policy of 80 KB")
def _(rig: Rig) -> int:
    allowed = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "x"}}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed] * 1000})
    for action in ("CreateRole", "ListRoles"):
        given = {"RoleName": "large", "AssumeRolePolicyDocument": policy}
        form = urlencode({"Action": action, "Version": "2010-05-08", **given}).encode()
        status, _ = rig.ask("POST", "/aws/", form, **{"Content-Type": FORM})
    return status


read("Resource Manager", "projects.list", "/v1/projects")

# ---- the console --------------------------------------------------------------------------------
PAGES = (
    "",
    "jobs",
    "pipelines",
    "studies",
    "experiments",
    "endpoints",
    "models",
    "buckets",
    "bucket?scheme=gs&name=torture",
    "search?q=seed",
    "bill",
    "compare",
)


def page(path: str) -> None:
    """Take a page of the console among the cases."""

    @case("the console", f"/console/{path}", "all resources")
    def _(rig: Rig) -> int:
        visitor = Visitor(rig.port)
        link = urlsplit(control.console_link(rig.home))
        visitor.get(f"{link.path}?{link.query}")
        return visitor.get(f"/console/{path}").status


for each in PAGES:
    page(each)
read("the server", "status", "/status")
read("the server", "bill", "/bill")
