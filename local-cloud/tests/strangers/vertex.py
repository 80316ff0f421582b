"""Vertex AI as a place for scripts: custom jobs, and trials of tuning jobs.

The SDK sends one script; its package and its request, with another script put in, send the others.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import tarfile
import urllib.request
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.strangers.script import Script
from tests.strangers.shared_parts import DATA, ROWS, Look, Sent

Json = dict[str, Any]
BUCKET = "strangers-staging"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest"
PACKAGE = "aiplatform_custom_trainer_script"
PROJECT, LOCATION = "strangers-project", "us-central1"
PARENT = f"/v1/projects/{PROJECT}/locations/{LOCATION}"
STATES = {
    "JOB_STATE_RUNNING": "running",
    "JOB_STATE_SUCCEEDED": "succeeded",
    "JOB_STATE_FAILED": "failed",
    "JOB_STATE_CANCELLED": "stopped",
}


class Vertex:
    """The real SDK's requests, as templates, and sending scripts by them."""

    def __init__(self, url: str, jobs: Path, scratch: Path) -> None:
        """url: the local cloud's; jobs: its folder with the logs; scratch: for a script."""
        from google.cloud import aiplatform, storage
        from google.cloud.aiplatform import hyperparameter_tuning as hpt

        self.url, self.jobs = url, jobs
        self.bucket = storage.Client().create_bucket(BUCKET)
        storage.Client().create_bucket(DATA).blob("table/data.csv").upload_from_string(ROWS)
        path = scratch / "task.py"
        path.write_text("pass")
        job = aiplatform.CustomJob.from_local_script(
            display_name="script", script_path=str(path), container_uri=IMAGE, args=["--a=b"],
            base_output_dir=f"gs://{BUCKET}/out", project=PROJECT, location=LOCATION,
            staging_bucket=f"gs://{BUCKET}",
        )  # fmt: skip
        study = aiplatform.HyperparameterTuningJob(
            display_name="study", custom_job=job, metric_spec={"loss": "minimize"},
            parameter_spec={"lr": hpt.DoubleParameterSpec(min=0.001, max=0.1, scale="log")},
            max_trial_count=1, parallel_trial_count=1, project=PROJECT, location=LOCATION,
        )  # fmt: skip
        self._job = json.loads(type(job._gca_resource).to_json(job._gca_resource))
        self._study = json.loads(type(study._gca_resource).to_json(study._gca_resource))
        (pool,) = self._job["jobSpec"]["workerPoolSpecs"]
        (self._uri,) = pool["pythonPackageSpec"]["packageUris"]

    def send(self, script: Script, trial: bool) -> Sent:
        """Send a script as a job, or as the trial of a study."""
        name = f"{script.name}-trial" if trial else script.name
        spec = self._spec(script, name)
        if not trial:
            body = self._job | {"displayName": name, "jobSpec": spec}
            return VertexSent(self, self.call(f"{PARENT}/customJobs", body)["name"], name)
        body = copy.deepcopy(self._study) | {"displayName": name, "trialJobSpec": spec}
        body["studySpec"]["parameters"][0]["parameterId"] = script.one("tuned", "lr")
        made = self.call(f"{PARENT}/hyperparameterTuningJobs", body)
        return VertexSent(self, made["name"], name)

    def _spec(self, script: Script, name: str) -> Json:
        spec: Json = copy.deepcopy(self._job["jobSpec"])
        (pool,) = spec["workerPoolSpecs"]
        package = f"packages/{name}.tar.gz"
        self.bucket.blob(package).upload_from_string(self._packed(script))
        words = [f"--{key}={_text(value)}" for key, value in script.hyperparameters.items()]
        pool["pythonPackageSpec"] |= {
            "packageUris": [f"gs://{BUCKET}/{package}"],
            "args": [*script.one("arguments").split(), *words],
        }
        spec["baseOutputDirectory"]["outputUriPrefix"] = f"gs://{BUCKET}/out/{name}"
        if (others := int(script.one("replicas", "1")) - 1) > 0:
            spec["workerPoolSpecs"].append(pool | {"replicaCount": str(others)})
        return spec

    @cached_property
    def _template(self) -> bytes:
        name = self._uri.removeprefix(f"gs://{BUCKET}/")
        template: bytes = self.bucket.blob(name).download_as_bytes()
        return template

    def _packed(self, script: Script) -> bytes:
        """The SDK's package with this script's Python files in place of its own."""
        body = io.BytesIO()
        with (
            tarfile.open(fileobj=io.BytesIO(self._template)) as old,
            gzip.GzipFile(fileobj=body, mode="w", mtime=0) as zipped,
            tarfile.open(fileobj=zipped, mode="w") as new,
        ):
            for member in old:
                folder, _, last = member.name.rpartition("/")
                if last == "task.py":
                    for name, text in script.files.items():
                        if name.endswith(".py"):
                            _add(new, f"{folder}/{name}", text)
                elif not (last == "__init__.py" and last in script.files):
                    new.addfile(member, old.extractfile(member) if member.isfile() else None)
        return body.getvalue()

    def call(self, path: str, body: Json | None = None) -> Json:
        """POST a body, or GET without one."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data)
        with urllib.request.urlopen(request, timeout=60) as answer:
            content: Json = json.load(answer)
            return content

    def objects(self, prefix: str) -> dict[str, bytes]:
        """The objects below a prefix, by the rest of their names."""
        blobs = list(self.bucket.list_blobs(prefix=prefix))
        return {blob.name.removeprefix(prefix): blob.download_as_bytes() for blob in blobs}


class VertexSent(Sent):
    """A custom job, or a study of one trial."""

    def __init__(self, place: Vertex, resource: str, name: str) -> None:
        self.place, self.resource, self.name = place, resource, name
        self.trial = "/hyperparameterTuningJobs/" in resource
        self.job = "" if self.trial else resource

    def look(self) -> Look:
        if not self.job:
            study = self.place.call(f"/v1/{self.resource}")
            if trials := study.get("trials"):
                self.job = trials[0].get("customJob", "")
            if not self.job:
                ended = STATES.get(study["state"], "queued") not in ("queued", "running")
                return Look("failed" if ended else "queued", f"no trial: {study}")
        resource = self.place.call(f"/v1/{self.job}")
        return Look(
            STATES.get(resource["state"], "queued"), resource.get("error", {}).get("message", "")
        )

    def over(self) -> bool:
        state = self.place.call(f"/v1/{self.resource}")["state"]
        return STATES.get(state, "queued") not in ("queued", "running")

    def cancel(self) -> None:
        self.place.call(f"/v1/{self.resource}:cancel", {})

    def log(self) -> str:
        return self.read(self.place.jobs / self.job.rpartition("/")[2]) if self.job else ""

    def model(self) -> dict[str, bytes]:
        middle = "1/" if self.trial else ""
        return self.place.objects(f"out/{self.name}/{middle}model/")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _add(archive: tarfile.TarFile, name: str, text: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(text)
    archive.addfile(member, io.BytesIO(text))
