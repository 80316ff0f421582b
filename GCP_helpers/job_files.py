"""A job as a file and a command: what `gcloud ai custom-jobs create` needs to send it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from GCP_helpers import jobs, vm
from GCP_helpers.session import current_session, refusals
from lesson import LessonError
from lesson.jobs.request import Request

CALLS = {"CustomTrainingJob", "CustomJob.from_local_script", "submit"}


class _Sent(Exception):
    """What the SDK was about to send."""


class _Recorder:
    """Stands in for a client of the SDK: its calls raise _Sent with the message."""

    def create_training_pipeline(self, training_pipeline: Any, **_: Any) -> None:
        raise _Sent(training_pipeline)

    def create_custom_job(self, custom_job: Any, **_: Any) -> None:
        raise _Sent(custom_job)


def write_job(request: Request, path: str = "config.yaml") -> str:
    """Write what train(..., dry_run=True) returned to a file, and return the command that sends it.

    Of what train_on_vm(..., dry_run=True) returned, the file is the machine's start-up script.

    The SDK uploads the code, because the file names where it is in the bucket, and makes its
    message; the message is written down instead of sent. The file is a CustomJobSpec in YAML,
    checked against the service's own proto.
    """
    import yaml

    if "insert" in request:
        return vm.command(request, path)
    session = current_session()
    message = _message(request)
    spec = _spec(message)
    for pool in spec["workerPoolSpecs"]:
        if "replicaCount" in pool:
            pool["replicaCount"] = int(pool["replicaCount"])  # JSON's int64 is a string
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    labels = ",".join(f"{name}={value}" for name, value in message.labels.items())
    return shlex.join(
        [
            "gcloud",
            "ai",
            "custom-jobs",
            "create",
            f"--region={session.region}",
            f"--display-name={message.display_name}",
            f"--labels={labels}",
            f"--config={path}",
        ]
    )


def _message(request: Request) -> Any:
    """Return the TrainingPipeline or CustomJob that the SDK would send for the request."""
    if "submit" not in request or not CALLS.issuperset(request):  # it would be sent
        raise LessonError("this is no training job: give the request of train(..., dry_run=True)")
    with refusals("uploading the code of the job"):
        job = jobs.make(request)
        job.api_client = _Recorder()
        try:
            job.submit(**request["submit"])
        except _Sent as sent:
            return sent.args[0]
    raise AssertionError("the SDK has sent the job in a way of its own")


def _spec(message: Any) -> dict[str, Any]:
    """Return the message's CustomJobSpec in its JSON form; a pipeline holds it untyped."""
    from google.cloud.aiplatform_v1.types import CustomJobSpec
    from google.protobuf.json_format import MessageToDict, ParseDict

    if "job_spec" in type(message).meta.fields:
        spec = CustomJobSpec.pb(message.job_spec)
    else:
        spec = CustomJobSpec.pb(CustomJobSpec())
        inputs = MessageToDict(type(message).pb(message).training_task_inputs)
        ParseDict(_without_nulls(inputs), spec)
    plain: dict[str, Any] = MessageToDict(spec)
    return plain


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
