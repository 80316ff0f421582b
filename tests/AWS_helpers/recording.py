"""How the requests of Amazon's SDKs are written down, and what is compared of each.

The SageMaker SDK also tells Amazon how it is used, outside of boto3: that is written down too, and
goes nowhere.
"""

from __future__ import annotations

import json
import re
import threading
from typing import Any
from urllib.parse import unquote, urlsplit

import requests
from botocore.httpsession import URLLib3Session

from testing import once

MACHINES = r"\.(Create(Training|HyperParameterTuning)Job|CreateEndpoint) "
# What differs between any two runs, and what stands for it in the comparison.
CHANGES = (
    (r"train-nn-\w+-\d{8}-\d{6}-\d{6}", "FOLDER"),
    (r"tune-nn-\w+-\d{14}", "STUDY"),
    (r"STUDY-\d{3}-[0-9a-f]{8}", "TRIAL"),  # which is best differs too: the seed is the name
    (r"/tuning-\d{10}/", "/tuning-TIME/"),
    (r"train-nn-\w+-\d{6}-\d{14}", "JOB"),
    (r"train-nn-\w+-\d{6}", "JOB"),
    (r"serve-nn-\w+-\d{8}-\d{6}-\d{6}", "ENDPOINT"),
    (r'"startTime": \d+', '"startTime": TIME'),
    (r'"[nN]extToken": "[^"]*"', '"nextToken": TOKEN'),
)


def record(target: str, local: str, events: list[dict[str, Any]]) -> None:
    """Have the SDKs write down each request, and send to `local` what is meant for Amazon."""
    send = URLLib3Session.send

    def recorded(session: URLLib3Session, request: Any) -> Any:
        headers = {name.lower(): _text(value) for name, value in request.headers.items()}
        events.append(
            {
                "method": request.method,
                # The SDK's own thread tells Amazon of its use, at any time.
                "in_turn": threading.current_thread().name != "sagemaker-telemetry",
                "url": request.url,
                "operation": headers.get("x-amz-target", ""),
                "authorization": headers.get("authorization", ""),
                "size": headers.get("x-amz-decoded-content-length")
                or headers.get("content-length"),
                "body": _text(request.body) if isinstance(request.body, str | bytes) else "",
            }
        )
        if target == "cloud":
            request.url = local + at_home(request.url)
        return send(session, request)

    def told_elsewhere(url: str, *_: Any, **__: Any) -> Any:
        """What the SDK would tell without boto3."""
        events.append({"told": url})
        raise requests.ConnectionError("this goes nowhere")

    once.install()
    URLLib3Session.send = recorded
    requests.get = told_elsewhere


def at_home(url: str) -> str:
    """The path and query on the local cloud, which has buckets in the path and not in the host."""
    parts = urlsplit(url)
    bucket = re.fullmatch(r"([^.]+)\.s3(\.[a-z0-9-]+)?\.amazonaws\.com", parts.netloc)
    path = f"/{bucket[1]}{parts.path}" if bucket else parts.path
    return path + (f"?{parts.query}" if parts.query else "")


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def line(event: dict[str, Any], secret: str) -> str:
    """Return a request in a form to compare."""
    url = urlsplit(event["url"])
    path = unquote(url.path).removeprefix(f"/{secret}/aws") or "/"
    if bucket := re.match(r"([^.]+)\.s3\.", url.netloc):
        path = f"/{bucket[1]}{path}"
    body = event["body"]
    if body.startswith("{"):
        body = json.dumps(json.loads(body), sort_keys=True)
    # An object's content is sent in pieces over https, and whole over http: its size is told.
    what = event["size"] if event["method"] == "PUT" else body
    if path.endswith("/model.tar.gz"):  # a model that is packed again, with the times in it
        what = "ARCHIVE"
    text = " ".join([event["method"], path.rstrip("/"), url.query, event["operation"], what])
    for pattern, instead in CHANGES:
        text = re.sub(pattern, instead, text)
    # Keys are listed by the names of the jobs, which hold chance and time. Whether a job that is
    # cancelled leaves a model behind, as the one before it did, is a matter of the moment.
    keys = set(re.findall(r"<Object>.*?</Object>", text))
    return re.sub(r"<Object>.*</Object>", "".join(sorted(keys)), text)
