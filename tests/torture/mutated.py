"""Requests that were once good, changed at random: refused in words, and nobody else is let in."""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.torture.rig import BUCKET, PARENT, Json, Rig, pool, training_job
from tests.torture.tally import Tally

ODD: list[Any] = [
    None, True, -1, 0, 1e400, 2**70, 1.5, "", " ", "x" * 5000, "\ud800", "\0", "a/b", "../..",
    "%2F", [], {}, [[]], [None], {"": ""}, {"@type": "x"}, "gs://", "s3://", "9" * 400, "\u202e",
    "NaN",
]  # fmt: skip
PIECES = [
    "",
    "..",
    "%2e%2e",
    "%2F",
    "%00",
    "%ff",
    "a:b",
    ":cancel",
    "@1",
    "x" * 3000,
    "*",
    "-",
    "{id}",
]
Request = tuple[str, str, bytes, dict[str, str]]


def run(folder: Path, seconds: float) -> Tally:
    """As many as there is time for; every fourth goes without the secret."""
    tally = Tally("mutated")
    with Rig(folder / "mutated") as rig:
        secret, count, end = rig.home.secret(), 0, time.monotonic() + seconds
        for method, path, body, headers in mutated(seed=0):
            count += 1
            if time.monotonic() > end:
                break
            outside = count % 4 == 0
            word = secret[::-1] if outside else secret
            try:
                status, answer = rig.ask_raw(method, f"/{word}{path}", body, headers)
            except OSError as problem:
                tally.breaks(f"{method} {path[:200]!r}: no answer: {problem}")
                continue
            if outside and status not in (400, 403):
                tally.lets_in(f"{method} {path[:200]!r} without the secret: {status}")
            elif secret.encode() in answer and status >= 400:
                tally.breaks(f"{method} {path[:200]!r}: the error's text holds the secret")
            else:
                what = (
                    f"{method} {path[:200]!r} {headers} {body[:300]!r}: {status} {answer[:200]!r}"
                )
                tally.check(status < 500 or status in (501, 503, 507), what)
        status, _ = rig.ask("GET", "/status")
        tally.check(status == 200, f"the server's status afterwards: {status}")
    return tally


def mutated(seed: int) -> Iterator[Request]:
    """Good requests with one to three things changed in each, for ever."""
    chosen, good = random.Random(seed), _good()
    while True:
        method, path, body, headers = copy.deepcopy(chosen.choice(good))
        for _ in range(chosen.randint(1, 3)):
            kind = chosen.random()
            if kind < 0.6 and isinstance(body, dict):
                _change(chosen, body)
            elif kind < 0.8:
                path = _repath(chosen, path)
            elif kind < 0.9:
                method = chosen.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "LINK"])
            else:
                headers[chosen.choice(["Content-Type", "X-Amz-Target", "Range", "X-Evil"])] = (
                    chosen.choice(
                        ["", "x", "bytes=-1-", "bytes=5-1", "SageMaker.", "é", "1" * 4000]
                    )
                )
        content = body if isinstance(body, bytes) else _text(chosen, body)
        yield method, path, content, headers


def _good() -> list[tuple[str, str, Json | bytes, dict[str, str]]]:
    def sagemaker(operation: str, body: Json) -> tuple[str, str, Json | bytes, dict[str, str]]:
        return "POST", "/aws/", body, {"X-Amz-Target": f"SageMaker.{operation}"}

    # None of them would run anything: the commands end at once.
    job = {"displayName": "m", "jobSpec": {"workerPoolSpecs": [pool(["true"])]}}
    study = {
        "displayName": "m", "maxTrialCount": 1, "parallelTrialCount": 1,
        "trialJobSpec": job["jobSpec"],
        "studySpec": {
            "metrics": [{"metricId": "a", "goal": 1}],
            "parameters": [{"parameterId": "x", "doubleValueSpec": {"minValue": 0, "maxValue": 1}}],
        },
    }  # fmt: skip
    objects = f"/storage/v1/b/{BUCKET}/o"
    return [
        ("POST", f"{PARENT}/customJobs", job, {}),
        ("POST", f"{PARENT}/hyperparameterTuningJobs", study, {}),
        ("GET", f"{PARENT}/customJobs?filter=state%3D1&pageSize=3&pageToken=x", b"", {}),
        ("GET", f"{PARENT}/customJobs/1", b"", {}),
        ("POST", f"{PARENT}/models:upload", {"model": {"displayName": "m"}}, {}),
        ("POST", f"{PARENT}/tensorboards", {"displayName": "t"}, {}),
        ("POST", f"{PARENT}/metadataStores?metadataStoreId=default", {}, {}),
        ("POST", "/storage/v1/b?project=p", {"name": "mutated", "labels": {"a": "b"}}, {}),
        ("GET", f"{objects}?prefix=a&delimiter=%2F&maxResults=5", b"", {}),
        ("PATCH", f"{objects}/a", {"metadata": {"a": "b"}}, {}),
        ("POST", f"{objects}/a/rewriteTo/b/{BUCKET}/o/b", {}, {}),
        ("POST", f"/upload{objects}?uploadType=media&name=a", b"content", {}),
        ("POST", f"/upload{objects}?uploadType=resumable", {"name": "a"}, {}),
        ("POST", f"/upload{objects}?uploadType=multipart", b"--x\r\n\r\n{}\r\n--x--", {}),
        ("PUT", f"/aws/{BUCKET}/k", b"content", {}),
        ("GET", f"/aws/{BUCKET}?list-type=2&prefix=k&max-keys=3", b"", {}),
        ("POST", f"/aws/{BUCKET}?delete", b"<Delete><Object><Key>k</Key></Object></Delete>", {}),
        ("POST", f"/aws/{BUCKET}/k?uploads", b"", {}),
        ("PUT", f"/aws/{BUCKET}/k?partNumber=1&uploadId=x", b"part", {}),
        sagemaker("CreateTrainingJob", training_job("mutated", ["true"])),
        sagemaker("ListTrainingJobs", {"SortBy": "Name", "MaxResults": 5, "NameContains": "m"}),
        sagemaker("Search", {"Resource": "TrainingJob", "SearchExpression": {"Filters": []}}),
        sagemaker("AddTags", {"ResourceArn": "arn:aws:x", "Tags": [{"Key": "a", "Value": "b"}]}),
        sagemaker("CreateModelPackageGroup", {"ModelPackageGroupName": "g"}),
        (
            "POST", "/aws/", {"logGroupName": "/aws/sagemaker/TrainingJobs", "filterPattern": "a"},
            {"X-Amz-Target": "Logs_20140328.FilterLogEvents"},
        ),
        ("POST", "/aws/", b"Action=GetRole&Version=2010-05-08&RoleName=x", {}),
        ("POST", "/aws/", b"Action=SimulatePrincipalPolicy&ActionNames.member.1=a", {}),
        ("POST", "/rehearse", {"epochs": []}, {}),
    ]  # fmt: skip


def _change(chosen: random.Random, body: Json) -> None:
    """Change one thing somewhere in a document."""
    here: Any = body
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return
        key = chosen.choice(keys)
        if isinstance(here[key], (dict, list)) and here[key] and chosen.random() < 0.8:
            here = here[key]
            continue
        kind = chosen.random()
        if kind < 0.15:
            del here[key]
        elif kind < 0.25 and isinstance(here, dict):
            here[chosen.choice(["", "x" * 300, "\ud800", key.upper()])] = here[key]
        else:
            here[key] = copy.deepcopy(chosen.choice(ODD))
        return


def _repath(chosen: random.Random, path: str) -> str:
    parts = path.split("/")
    place = chosen.randrange(1, len(parts))
    parts[place] = chosen.choice([chosen.choice(PIECES), parts[place] + chosen.choice(PIECES)])
    return "/".join(parts)


def _text(chosen: random.Random, body: Json) -> bytes:
    text = json.dumps(body).encode()
    kind = chosen.random()
    if kind < 0.05:
        return text[: chosen.randrange(len(text))]
    if kind < 0.08:
        return b"[" * 100_000
    if kind < 0.11:
        return text.decode().encode("utf-16")
    if kind < 0.14:
        return text[:-1] + b',"\xff":1}'
    return text
