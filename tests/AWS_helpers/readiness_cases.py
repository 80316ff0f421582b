"""Run the check of Amazon once for each case of answers.py, and write down what it prints.

    python readiness_cases.py RECORD      (FORWARD_TO is the URL of the local cloud's Amazon)

botocore's event `before-call` answers a call by the case; a call that the case says nothing about
is sent to the local cloud, and a connection to anything else is refused.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import botocore.handlers
from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session

from lesson import check
from testing import once
from tests.AWS_helpers.answers import CASES, READY, ROLE, Answer
from tests.AWS_helpers.recording import at_home

LOCAL = os.environ["FORWARD_TO"]
send = URLLib3Session.send
case: list[Answer] = []
asked: list[str] = []


def answered(model: Any, params: Any, **_: Any) -> Any:
    """Answer a call by the case; None leaves it to the transport."""
    asked.append(f"{model.service_model.service_name} {model.name}")
    for service, operation, status, answer in case:
        if (service, operation) == (model.service_model.service_name, model.name):
            http = AWSResponse(params["url"], status, {}, None)
            body = (
                {"Error": dict(zip(("Code", "Message"), answer, strict=True))}
                if status >= 300
                else answer
            )
            if isinstance(answer, str):
                body = {"EvaluationResults": decided(answer, params["body"])}
            return http, body | {"ResponseMetadata": {"HTTPStatusCode": status}}
    return None


def decided(decision: str, asking: dict[str, str]) -> list[dict[str, str]]:
    """The decision on each action; as policies have it, a role may be passed to SageMaker only.

    Without the key of that condition in the question, IAM finds that it does not hold.
    """
    keys = {value for name, value in asking.items() if name.endswith(".ContextKeyName")}
    actions = [value for name, value in asking.items() if name.startswith("ActionNames")]
    unmet = [
        each for each in actions if each == "iam:PassRole" and "iam:PassedToService" not in keys
    ]
    return [
        {"EvalActionName": each, "EvalDecision": "implicitDeny" if each in unmet else decision}
        for each in actions
    ]


def forwarded(session: URLLib3Session, request: Any) -> Any:
    """Send a request that was meant for Amazon to the local cloud."""
    assert request.url.startswith("https://"), request.url
    request.url = LOCAL + at_home(request.url)
    return send(session, request)


def only_the_local_cloud(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: whatever does not go through boto3 is caught at its socket."""
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        assert arguments[1][:2] == ("127.0.0.1", urlsplit(LOCAL).port), arguments[1]


def printed(answers: list[Answer], *more: str, **environment: str) -> dict[str, Any]:
    """What the command prints, returns and asks."""
    case[:], asked[:] = answers, []
    out = io.StringIO()
    with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(out):
        ready = check.main(["--target", "cloud", "--cloud", "aws", *more])
    return {"out": out.getvalue(), "ready": ready, "asked": list(asked)}


def main() -> dict[str, Any]:
    """All cases, and those of the environment."""
    role = {"a user with a role": {"LESSON_ROLE": ROLE}}
    cases = {name: printed(answers, **role.get(name, {})) for name, answers in CASES.items()}
    cases["another Region"] = printed(READY, "--region", "eu-central-1")
    cases["no bucket named"] = printed(READY, LESSON_BUCKET="")
    cases["an endpoint"] = printed(READY, AWS_ENDPOINT_URL=LOCAL)
    own = "111122223333.dkr.ecr.us-east-1.amazonaws.com/lesson:1"
    cases["an image of one's own"] = printed(READY, LESSON_IMAGE=own)
    with mock.patch.dict(os.environ):
        del os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
        cases["no credentials"] = printed([])
    return cases


if __name__ == "__main__":
    sys.addaudithook(only_the_local_cloud)
    botocore.handlers.BUILTIN_HANDLERS.append(("before-call", answered))
    once.install()  # each case has a session of its own
    with mock.patch.object(URLLib3Session, "send", forwarded):
        Path(sys.argv[1]).write_text(json.dumps(main()))
