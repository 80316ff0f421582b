"""One record that makes no sense leaves the others in every list, of the services and the console.

Such a record is of another version of the local cloud, or of a file that somebody has changed.
"""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import boto3
import pytest
from botocore.exceptions import ClientError, ParamValidationError
from google.cloud import bigquery, storage

from local_cloud.client.control import Status
from testing.visitor import Visitor
from tests.console import filled_cloud as names
from tests.console.filled_cloud import Filled

OF_VERTEX = (
    "customJobs",
    "hyperparameterTuningJobs",
    "models",
    "endpoints",
    "tensorboards",
    "datasets",
    "trainingPipelines",
    "pipelineJobs",
    "batchPredictionJobs",
    "schedules",
    "metadataStores",
    "studies",
    "metadataStores/default/contexts",
    "metadataStores/default/artifacts",
)
PAGES = (
    "",
    "jobs",
    "studies",
    "experiments",
    "models",
    "endpoints",
    "pipelines",
    "buckets",
    "bill",
    "datasets",
    "search?q=titanic",
    "failures",
)


@pytest.fixture(scope="module")
def more(filled: Filled) -> Filled:
    """And what the console's pages do not need."""
    sagemaker, variant = boto3.client("sagemaker"), {"VariantName": "v", "ModelName": "m"}
    sagemaker.create_model(
        ModelName="m",
        PrimaryContainer={"Image": names.TRAINING_IMAGE},
        ExecutionRoleArn=names.ROLE,
    )
    variant |= {"InitialInstanceCount": 1, "InstanceType": "ml.m5.large"}  # type: ignore[dict-item]
    sagemaker.create_endpoint_config(EndpointConfigName="c", ProductionVariants=[variant])
    sagemaker.create_experiment(ExperimentName="e")
    sagemaker.create_trial(TrialName="t", ExperimentName="e")
    sagemaker.create_model_package_group(ModelPackageGroupName="g")
    list(bigquery.Client(project="filled").query("SELECT 1").result())
    storage.Client(project="filled").create_bucket("of-nobody")
    return filled


def lists(cloud: Status, more: Filled) -> dict[str, Request]:
    """What lists something: requests to the services, by their path."""
    url, (location, _, board) = cloud.home.url(cloud.port), more.board.partition("/tensorboards/")
    paths = [f"/v1/{location}/{noun}" for noun in OF_VERTEX]
    board = board.partition("/")[0]
    paths += [f"/v1/{location}/tensorboards/{board}/experiments", f"/v1/{more.board}/runs"]
    paths += ["/bill", "/status", "/bigquery/v2/projects/filled/jobs"]
    paths += ["/storage/v1/b?project=filled", f"/storage/v1/b/{names.BUCKET}/o"]
    asked = {path: Request(f"{url}{path}") for path in paths}
    body = json.dumps({"resourceNames": [more.board.rpartition("/locations/")[0]]}).encode()
    kind = {"Content-Type": "application/json"}
    return asked | {"/v2/entries:list": Request(f"{url}/v2/entries:list", body, kind)}


def refused(cloud: Status, more: Filled) -> Iterator[str]:
    """The lists that fail."""
    for path, asked in lists(cloud, more).items():
        try:
            urlopen(asked).close()
        except HTTPError as problem:
            yield f"{path}: {problem.code}"
    visitor, sagemaker = Visitor.of(cloud), boto3.client("sagemaker")
    for page in PAGES:
        if (answer := visitor.get(f"/console/{page}")).status != 200:
            yield f"console/{page}: {answer.status}"
    for name in of_sagemaker():
        try:
            getattr(sagemaker, name)()
        except ClientError as problem:
            yield f"{name}: {problem}"


@functools.cache
def of_sagemaker() -> list[str]:
    """The lists of SageMaker's that are implemented, and are of nothing's parts."""
    sagemaker, names = boto3.client("sagemaker"), []
    for name in (name for name in dir(sagemaker) if name.startswith("list_")):
        with suppress(ParamValidationError, ClientError):
            getattr(sagemaker, name)()
            names.append(name)
    return names


def test_every_other_item_is_listed(cloud: Status, more: Filled) -> None:
    refusals: dict[str, list[str]] = {}
    path = cloud.home.data / "records.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as database:
        rows = database.execute(
            "SELECT kind, max(name), document FROM record WHERE kind NOT LIKE 'object/%'"
            " AND name NOT LIKE '%/operations/%' GROUP BY kind, CASE WHEN kind = 'vertex'"
            " THEN substr(name, instr(name, 'us-central1/') + 12, 8) END"
        ).fetchall()
        rows += database.execute(
            "SELECT kind, name, document FROM record WHERE kind LIKE 'object/%' LIMIT 1"
        ).fetchall()
        assert len(rows) > 25 and not list(refused(cloud, more))
        change = "UPDATE record SET document = ? WHERE kind = ? AND name = ?"
        for kind, name, document in rows:
            for bad in ("{}", json.dumps(dict.fromkeys(json.loads(document)))):
                database.execute(change, (bad, kind, name))
                refusals[f"{kind} {name} {bad[:30]}"] = list(refused(cloud, more))
                database.execute(change, (document, kind, name))
    assert {bad: failed for bad, failed in refusals.items() if failed} == {}


def test_the_console_and_the_log_say_so(cloud: Status, more: Filled, visitor: Visitor) -> None:
    with closing(sqlite3.connect(cloud.home.data / "records.sqlite", timeout=30)) as database:
        where = ("vertex", more.model)
        old = database.execute(
            "SELECT document FROM record WHERE kind = ? AND name = ?", where
        ).fetchone()[0]
        change = "UPDATE record SET document = ? WHERE kind = ? AND name = ?"
        bad = json.dumps(dict.fromkeys(json.loads(old)))
        with database:
            database.execute(change, (bad, *where))
        try:
            page = visitor.get("/console/models")
        finally:
            with database:
                database.execute(change, (old, *where))
    assert "its record cannot be understood; the local cloud's log says why" in page
    assert f"the record of vertex {more.model} cannot be understood" in cloud.home.log.read_text()
