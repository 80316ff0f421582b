"""How the requests of Google's SDKs are written down, and what is compared of each."""

from __future__ import annotations

import json
import re
import threading
from typing import Any
from urllib.parse import unquote, urlsplit

import google.auth
import google.oauth2.credentials
import requests

MACHINES = (
    r"^POST .*"
    r"/(customJobs|trainingPipelines|hyperparameterTuningJobs|endpoints/ID:deployModel) "
)
# What differs between any two runs, and what stands for it in the comparison.
CHANGES = (
    (r"(?<=-nn-)\w+-\d{8}-\d{6}-\d{6}", "TIME"),  # the learner too, in the helpers' names
    (r"\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}", "TIME"),  # in the SDK's names
    (r"\d{16,20}", "ID"),
    (r'"crc32c": "[^"]+"', '"crc32c": "SUM"'),  # a package of code holds the time it was made
    (r"upload_id=[^&]+", "upload_id=ID"),
    # What a job that is cancelled leaves behind, half-written files too, is a matter of the moment.
    (r"(/o/runs/train-nn-TIME/(model|logs))/[^ ]+", r"\1/FILE"),
    (r"(tune-nn-TIME(/|%2F))\d+(/|%2F)", r"\1BEST\3"),  # the search is another with each name
)


def record(target: str, local: str, events: list[dict[str, Any]]) -> None:
    """Have the SDKs write down each request, and send to `local` what is meant for Google."""
    send = requests.Session.send

    def recorded(
        session: requests.Session, request: requests.PreparedRequest, **more: Any
    ) -> requests.Response:
        assert request.url
        body = request.body or b""
        events.append(
            {
                "method": request.method,
                "url": request.url,
                # The storage client's own thread looks up a bucket, at any time.
                "in_turn": threading.current_thread() is threading.main_thread(),
                "authorization": request.headers.get("Authorization"),
                "body": body.decode("latin-1") if isinstance(body, bytes) else str(body),
            }
        )
        if target == "local":
            return send(session, request, **more)
        google = f"https://{urlsplit(request.url).netloc}"
        request.url = request.url.replace(google, local, 1)
        answer = send(session, request, **more)
        if "json" in answer.headers.get("Content-Type", ""):  # addresses in it are the service's
            answer._content = answer.content.replace(local.encode(), google.encode())
        return answer

    requests.Session.send = recorded  # type: ignore[method-assign]
    if target == "cloud":
        ours = google.oauth2.credentials.Credentials("a token")  # type: ignore[no-untyped-call]
        google.auth.default = lambda *_, **__: (ours, None)


def line(event: dict[str, Any], secret: str) -> str:
    """Return a request in a form to compare."""
    url = urlsplit(event["url"])
    path = unquote(url.path).removeprefix(f"/{secret}")
    body = event["body"]
    if body.startswith("--"):  # multipart: the object's attributes, and then its content
        body = body.split("\r\n")[3]
    if body.startswith("{"):  # a Struct's fields come in any order
        body = json.dumps(json.loads(body), sort_keys=True)
    text = " ".join([event["method"], path, url.query, body])
    for pattern, instead in CHANGES:
        text = re.sub(pattern, instead, text)
    return text
