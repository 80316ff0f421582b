"""Run the check of Google Cloud once for each case of answers.py, and write down what it prints.

    python readiness_cases.py RECORD      (FORWARD_TO is the URL of the local cloud)

Requests meant for Google are answered by the case, or by the local cloud where the case says
nothing; a connection to anything else is refused.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import google.auth
import google.oauth2.credentials
import requests
from google.auth import exceptions

from lesson import check
from tests.GCP_helpers.answers import CASES, PROJECT, READY, Answer

LOCAL = os.environ["FORWARD_TO"]
send = requests.Session.send


def only_the_local_cloud(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: whatever does not go through requests is caught at its socket."""
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        assert arguments[1][:2] == ("127.0.0.1", urlsplit(LOCAL).port), arguments[1]


@contextlib.contextmanager
def answering(case: list[Answer], asked: list[str]) -> Iterator[None]:
    """Answer requests by a case, and note each."""

    def answered(session: requests.Session, request: requests.PreparedRequest, **more: Any) -> Any:
        assert request.url and request.url.startswith("https://")
        asked.append(f"{request.method} {request.url}")
        for part, status, body in case:
            if part in request.url:
                made = requests.Response()
                made.status_code, made.url, made.request = status, request.url, request
                made.headers["Content-Type"] = "application/json; charset=UTF-8"
                made._content = (body if isinstance(body, str) else json.dumps(body)).encode()
                return made
        request.url = request.url.replace(f"https://{urlsplit(request.url).netloc}", LOCAL, 1)
        return send(session, request, **more)

    with mock.patch.object(requests.Session, "send", answered):
        yield


def printed(case: list[Answer], *more: str, **environment: str) -> dict[str, Any]:
    """What the command prints, returns and asks."""
    asked: list[str] = []
    out = io.StringIO()
    with (
        answering(case, asked),
        mock.patch.dict(os.environ, environment),
        contextlib.redirect_stdout(out),
    ):
        ready = check.main(["--target", "cloud", "--cloud", "gcp", *more])
    return {"out": out.getvalue(), "ready": ready, "asked": asked}


def main() -> dict[str, Any]:
    """All cases, and those of the credentials and the environment."""
    ours = google.oauth2.credentials.Credentials("a token")  # type: ignore[no-untyped-call]
    with mock.patch.object(google.auth, "default", lambda *_, **__: (ours, PROJECT)):
        cases = {name: printed(case) for name, case in CASES.items()}
        cases["another region"] = printed(READY, "--region", "europe-west4")
        cases["no bucket named"] = printed(READY, LESSON_BUCKET="")
        cases["an emulator"] = printed(READY, STORAGE_EMULATOR_HOST=LOCAL)
        image = "us-central1-docker.pkg.dev/my-project/lesson/train:1"
        cases["an image of one's own"] = printed(READY, LESSON_IMAGE=image)
    none = exceptions.DefaultCredentialsError("none")  # type: ignore[no-untyped-call]
    with mock.patch.object(google.auth, "default", side_effect=none):
        cases["no credentials"] = printed(READY)
    # github.com/googleapis/google-auth-library-python, tests of RefreshError; as gcloud prints it.
    old = google.oauth2.credentials.Credentials(  # type: ignore[no-untyped-call]
        None,
        "old",
        token_uri="https://oauth2.googleapis.com/token",
        client_id="x",
        client_secret="y",
    )
    refusal = {"error": "invalid_grant", "error_description": "Token has been expired or revoked."}
    with mock.patch.object(google.auth, "default", lambda *_, **__: (old, PROJECT)):
        cases["credentials revoked"] = printed([("oauth2.googleapis.com", 400, refusal), *READY])
    return cases


if __name__ == "__main__":
    sys.addaudithook(only_the_local_cloud)
    Path(sys.argv[1]).write_text(json.dumps(main()))
