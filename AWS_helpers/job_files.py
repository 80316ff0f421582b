"""A job as a file and a command: what `aws sagemaker create-training-job` needs to send it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from AWS_helpers import jobs, vm
from AWS_helpers.session import Session, current_session, refusals
from lesson import LessonError
from lesson.jobs.request import Request

CALLS = {"ModelTrainer", "with_metric_definitions", "with_tensorboard_output_config", "train"}
EVENT = "before-call.sagemaker.CreateTrainingJob"


class _Sent(Exception):
    """The body of the call that the SDK was about to make."""


def write_job(request: Request, path: str = "job.json") -> str:
    """Write what train(..., dry_run=True) returned to a file, and return the command that sends it.

    Of what train_on_vm(..., dry_run=True) returned, the file is EC2's request with the machine's
    start-up script in it.

    The SDK uploads the code, because the file names where it is in the bucket, and botocore
    checks the request against the service's model; the request is written down instead of sent. A
    name serves for one job: to send the file again, add `--training-job-name` and another one.
    """
    session = current_session()
    if "run_instances" in request:
        service, call, body = "ec2", "run-instances", request["run_instances"]
        vm.upload_source(**request["upload_source"])
    else:
        service, call, body = "sagemaker", "create-training-job", _body(session, request)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")
    return shlex.join(
        [
            "aws",
            service,
            call,
            f"--region={session.region}",
            "--cli-input-json",
            f"file://{path}",  # one word with "=" is not understood
        ]
    )


def _body(session: Session, request: Request) -> Any:
    """Return the body of CreateTrainingJob that the SDK would send for the request."""
    from sagemaker.core.utils.utils import SageMakerClient

    if "train" not in request or not CALLS.issuperset(request):  # it would be sent
        raise LessonError("this is no training job: give the request of train(..., dry_run=True)")
    # A client takes its session's handlers when it is made, and the SDK keeps its clients.
    events = session.boto.events
    events.register(EVENT, _stop)
    SageMakerClient.reset()
    try:
        with refusals("uploading the code of the job"):
            jobs.send(request)
    except _Sent as sent:
        return json.loads(sent.args[0])
    finally:
        events.unregister(EVENT, _stop)
        SageMakerClient.reset()
    raise AssertionError("the SDK has sent the job in a way of its own")


def _stop(params: dict[str, Any], **_: Any) -> None:
    raise _Sent(params["body"])
