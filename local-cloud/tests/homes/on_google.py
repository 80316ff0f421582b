"""The parts of a small home on Google's side: each is made by the real SDK, and read by it."""

from __future__ import annotations

import json
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from google.cloud import aiplatform, bigquery, storage
from google.cloud.aiplatform import hyperparameter_tuning as hpt

import local_cloud  # of the checkout in which home_contents.py runs

BUCKET, PROJECT = "kept-gs", "kept"
PARENT = f"projects/{PROJECT}/locations/us-central1"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
PAGES = {"a/text.txt": "text/plain", "a/ünï code.json": "application/json"}


def set_up() -> None:
    aiplatform.init(project=PROJECT, location="us-central1", staging_bucket=f"gs://{BUCKET}")


# ---- Cloud Storage ------------------------------------------------------------------------------
def make_objects() -> None:
    bucket = storage.Client(project=PROJECT).create_bucket(BUCKET)
    for name, kind in PAGES.items():
        blob = bucket.blob(name)
        blob.metadata = {"of": name}
        blob.upload_from_string(f"what {name} holds", content_type=kind)
    bucket.blob("a/again.txt").upload_from_string("the first time")
    bucket.blob("a/again.txt").upload_from_string("the second time")


def read_objects() -> Any:
    blobs = list(storage.Client(project=PROJECT).list_blobs(BUCKET, prefix="a/"))
    return {
        blob.name: {
            "text": blob.download_as_bytes().decode(),
            **{field: getattr(blob, field) for field in ("content_type", "metadata", "generation")},
            **{field: getattr(blob, field) for field in ("md5_hash", "crc32c", "size")},
            "updated": str(blob.updated),
        }
        for blob in blobs
    }


# ---- Vertex AI: jobs ----------------------------------------------------------------------------
def pool(code: str) -> dict[str, Any]:
    return {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": ["python", "-c", code]},
    }


GOOD = f"print('a line of its log'); open('/gcs/{BUCKET}/jobs/out.txt', 'w').write('its result')"
BAD = "import sys; print('what went wrong'); sys.exit(3)"


def make_jobs() -> None:
    storage.Client(project=PROJECT).bucket(BUCKET).blob("jobs/in.txt").upload_from_string("input")
    for name, code in (("good", GOOD), ("bad", BAD)):
        job = aiplatform.CustomJob(
            display_name=name, worker_pool_specs=[pool(code)], labels={"which": name}
        )
        job.submit()
        while not job.done():
            time.sleep(0.1)


def read_jobs() -> Any:
    output = storage.Client(project=PROJECT).bucket(BUCKET).blob("jobs/out.txt")
    jobs = {
        job.display_name: {
            "name": job.resource_name,
            "state": job.state.name,
            "labels": dict(job.labels),
            # Where its log is depends on the folder and the port.
            "error": job.error.message.partition("\nIts log")[0] if job.error else "",
            "command": list(job.job_spec.worker_pool_specs[0].container_spec.command),
            "times": [str(each) for each in (job.create_time, job.start_time, job.end_time)],
        }
        for job in aiplatform.CustomJob.list()
        if job.display_name in ("good", "bad")
    }
    return {"jobs": jobs, "output": output.download_as_bytes().decode()}


def read_logs() -> Any:
    """The lines of the jobs' logs by Cloud Logging."""
    lines_by_job = {}
    for job in aiplatform.CustomJob.list():
        if job.display_name in ("good", "bad"):
            body = {
                "resourceNames": [f"projects/{PROJECT}"],
                "filter": f'resource.labels.job_id="{job.name}"',
            }
            url = f"{local_cloud.status().url}/v2/entries:list"
            request = urllib.request.Request(
                url, json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request) as answer:
                entries = json.load(answer).get("entries", [])
            lines_by_job[job.display_name] = [[each["timestamp"], _line(each)] for each in entries]
    return lines_by_job


def _line(entry: dict[str, Any]) -> str:
    return str(entry.get("textPayload") or entry["jsonPayload"]["message"])


TRIAL = """
import json, os, sys
x = float(sys.argv[-1].partition("=")[2])
line = {"timestamp": 1.0, "trial": os.environ["CLOUD_ML_TRIAL_ID"], "loss": str(abs(x - 3)),
        "global_step": "1", "checkpoint_path": ""}
open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "w").write(json.dumps(line) + chr(10))
"""


def make_tuning() -> None:
    job = aiplatform.HyperparameterTuningJob(
        display_name="tuned",
        custom_job=aiplatform.CustomJob(display_name="trial", worker_pool_specs=[pool(TRIAL)]),
        metric_spec={"loss": "minimize"},
        parameter_spec={"x": hpt.DoubleParameterSpec(min=0, max=10, scale="linear")},
        max_trial_count=2,
        parallel_trial_count=2,
    )
    job.run()


def read_tuning() -> Any:
    (job,) = aiplatform.HyperparameterTuningJob.list()
    trials = [
        {
            "id": trial.id,
            "state": trial.state.name,
            "parameters": {one.parameter_id: one.value for one in trial.parameters},
            "metrics": {one.metric_id: one.value for one in trial.final_measurement.metrics},
        }
        for trial in job.trials
    ]
    return {"name": job.resource_name, "state": job.state.name, "trials": trials}


# ---- Vertex AI: models and endpoints ------------------------------------------------------------
SERVER = """
import http.server, json, os
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"predictions": [2 * each for each in sent["instances"]]}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json"); self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer(("0.0.0.0", int(os.environ["AIP_HTTP_PORT"])), Answer).serve_forever()
"""


def make_models() -> None:
    bucket = storage.Client(project=PROJECT).bucket(BUCKET)
    bucket.blob("model/model.txt").upload_from_string("a model")
    for version in ("first", "second"):
        parents = [one.resource_name for one in aiplatform.Model.list()]
        aiplatform.Model.upload(
            display_name="doubles",
            parent_model=parents[0] if parents else None,
            version_aliases=[version],
            artifact_uri=f"gs://{BUCKET}/model",
            serving_container_image_uri="us-docker.pkg.dev/kept/kept/kept:1",
            serving_container_command=["python", "-c", SERVER],
            serving_container_predict_route="/predict",
            serving_container_health_route="/health",
        )


def read_models() -> Any:
    (model,) = aiplatform.Model.list()
    versions = sorted(model.versioning_registry.list_versions(), key=lambda one: one.version_id)
    return {
        "name": model.resource_name,
        "display_name": model.display_name,
        "uri": model.uri,
        "command": list(model.container_spec.command),
        "versions": {one.version_id: list(one.version_aliases) for one in versions},
    }


def make_endpoint() -> None:
    (model,) = aiplatform.Model.list()
    endpoint = aiplatform.Endpoint.create(display_name="doubling", labels={"of": "kept"})
    model.deploy(endpoint=endpoint, machine_type="n1-standard-2", deployed_model_display_name="d")
    aiplatform.Endpoint.create(display_name="empty")


def read_endpoint() -> Any:
    endpoints = {}
    for endpoint in aiplatform.Endpoint.list():
        deployed = endpoint.list_models()
        endpoints[endpoint.display_name] = {
            "name": endpoint.resource_name,
            "labels": dict(endpoint.labels),
            "traffic": dict(endpoint.traffic_split),
            "deployed": [[one.id, one.display_name, one.model] for one in deployed],
            "predictions": endpoint.predict(instances=[1, 2]).predictions if deployed else [],
        }
    return endpoints


# ---- Vertex AI: experiments, pipelines, Vizier --------------------------------------------------
def make_experiment() -> None:
    aiplatform.init(project=PROJECT, location="us-central1", experiment="tried")
    aiplatform.start_run("run-1")
    aiplatform.log_params({"rate": 0.5, "kind": "sgd"})
    aiplatform.log_metrics({"accuracy": 0.75})
    aiplatform.end_run()


def read_experiment() -> Any:
    return aiplatform.get_experiment_df("tried").to_dict("records")


WRITE = 'mkdir -p "${0%/*}"; printf %s "$1" > "$0"'


def make_pipeline() -> None:
    arguments = ["{{$.outputs.parameters['out'].output_file}}", "{{$.inputs.parameters['text']}}"]
    container = {"image": "python:3.11", "command": ["sh", "-ec", WRITE], "args": arguments}
    text = {"parameters": {"text": {"parameterType": "STRING"}}}
    out = {"parameters": {"out": {"parameterType": "STRING"}}}
    component = {"executorLabel": "exec", "inputDefinitions": text, "outputDefinitions": out}
    given = {"inputs": {"parameters": {"text": {"componentInputParameter": "text"}}}}
    spec = {
        "schemaVersion": "2.1.0",
        "pipelineInfo": {"name": "piped"},
        "components": {"comp": component},
        "deploymentSpec": {"executors": {"exec": {"container": container}}},
        "root": {
            "dag": {"tasks": {"write": {"componentRef": {"name": "comp"}, **given}}},
            "inputDefinitions": text,
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        compiled = Path(folder, "piped.json")
        compiled.write_text(json.dumps(spec))
        aiplatform.PipelineJob(
            display_name="piped",
            template_path=str(compiled),
            pipeline_root=f"gs://{BUCKET}/piped",
            parameter_values={"text": "what it was given"},
        ).run()


def read_pipeline() -> Any:
    (listed,) = aiplatform.PipelineJob.list()
    job = aiplatform.PipelineJob.get(listed.resource_name)
    tasks = [
        [task.task_name, task.state.name, str(task.end_time)]
        for task in job.gca_resource.job_detail.task_details
    ]
    blobs = storage.Client(project=PROJECT).list_blobs(BUCKET, prefix="piped/")
    written = {blob.name: blob.download_as_bytes().decode() for blob in blobs}
    written = {name: text for name, text in written.items() if name.endswith("/out")}
    return {"name": job.resource_name, "state": job.state.name, "tasks": tasks, "out": written}


def _vizier() -> Any:
    from google.cloud.aiplatform_v1 import VizierServiceClient

    return VizierServiceClient()


def make_vizier() -> None:
    vizier = _vizier()
    x = {"parameter_id": "x", "double_value_spec": {"min_value": 0, "max_value": 10}}
    spec = {"parameters": [x], "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}]}
    study = vizier.create_study(parent=PARENT, study={"display_name": "own", "study_spec": spec})
    for number in range(2):
        request = {"parent": study.name, "suggestion_count": 1, "client_id": "me"}
        (trial,) = vizier.suggest_trials(request=request).result(timeout=60).trials
        metrics = [{"metric_id": "loss", "value": number + 0.5}]
        vizier.complete_trial(
            request={"name": trial.name, "final_measurement": {"metrics": metrics}}
        )


def read_vizier() -> Any:
    vizier = _vizier()
    (study,) = [one for one in vizier.list_studies(parent=PARENT) if one.display_name == "own"]
    return {
        trial.name: {
            "state": trial.state.name,
            "parameters": {one.parameter_id: one.value for one in trial.parameters},
            "metrics": {one.metric_id: one.value for one in trial.final_measurement.metrics},
        }
        for trial in vizier.list_trials(parent=study.name)
    }


# ---- BigQuery -----------------------------------------------------------------------------------
ROWS = [
    {"name": "Ada", "age": 36, "fare": 7.25, "day": "2026-11-22", "tags": ["a", "b"]},
    {"name": "Ünal", "age": None, "fare": 71.5, "day": None, "tags": []},
]
SCHEMA = [
    bigquery.SchemaField("name", "STRING", mode="REQUIRED", description="of a passenger"),
    bigquery.SchemaField("age", "INTEGER"),
    bigquery.SchemaField("fare", "FLOAT"),
    bigquery.SchemaField("day", "DATE"),
    bigquery.SchemaField("tags", "STRING", mode="REPEATED"),
]


def make_tables() -> None:
    client = bigquery.Client(project=PROJECT)
    client.create_dataset("kept")
    table = client.create_table(bigquery.Table(f"{PROJECT}.kept.passengers", schema=SCHEMA))
    config = bigquery.LoadJobConfig(schema=SCHEMA)
    client.load_table_from_json(ROWS, table, job_config=config).result()
    assert not client.insert_rows_json(table, [{"name": "Streamed", "age": 1, "tags": ["c"]}])
    client.query("UPDATE kept.passengers SET fare = 8 WHERE name = 'Ada'").result()
    client.query("CREATE VIEW kept.old AS SELECT name FROM kept.passengers WHERE age > 30").result()
    client.query(
        "CREATE MODEL kept.line OPTIONS(model_type='linear_reg', input_label_cols=['y']) AS "
        "SELECT x, 2 * x + 1 AS y FROM UNNEST(GENERATE_ARRAY(1, 50)) AS x"
    ).result()


def read_tables() -> Any:
    client = bigquery.Client(project=PROJECT)
    table = client.get_table("kept.passengers")
    rows = client.query("SELECT * FROM kept.passengers ORDER BY name").result()
    predicted = client.query("SELECT * FROM ML.PREDICT(MODEL kept.line, (SELECT 3 AS x))").result()
    return {
        "tables": [[one.table_id, one.table_type] for one in client.list_tables("kept")],
        "schema": [field.to_api_repr() for field in table.schema],
        "rows": [[*map(str, row.values())] for row in rows],
        "view": [row.name for row in client.query("SELECT * FROM kept.old").result()],
        "models": [one.model_id for one in client.list_models("kept")],
        "predicted": [round(row.predicted_y, 3) for row in predicted],
        "jobs": sum(1 for job in client.list_jobs() if job.state != "DONE"),
    }
