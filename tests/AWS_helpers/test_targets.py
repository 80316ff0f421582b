"""One code for both targets: the same requests go to the local cloud and to Amazon's.

Every verb runs twice, in a process of its own (every_verb.py): under LESSON_TARGET=local as always,
and under LESSON_TARGET=cloud with a transport that writes each request down and only then sends it
to the local cloud. What the SDKs sent has to be the same but for hosts, names and times.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from lesson.preparation import Prepared
from local_cloud.control import Status

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow  # GCP_helpers/test_targets.py is its like

HOST = re.compile(
    r"(([a-z0-9-]+\.)?s3|((api|runtime)\.)?sagemaker|logs|sts|iam)(\.[a-z0-9-]+)?\.amaz"
)
TELLING = "sagemaker-telemetry"
VERBS = {
    "connect", "upload", "estimate_cost", "train", "train again", "tune", "list_jobs", "cancel",
    "wait", "cleanup", "cleanup again", "deploy", "predict", "register",
    "write_job",
}  # fmt: skip
MACHINES = r"\.(Create(Training|HyperParameterTuning)Job|CreateEndpoint) "
# What differs between any two runs, and what stands for it in the comparison.
CHANGES = (
    (r"train-nn-\d{8}-\d{6}-\d{6}", "FOLDER"),
    (r"tune-nn-\d{8}-\d{6}-\d{6}", "STUDY"),
    (r"STUDY-\d{3}-[0-9a-f]{8}", "TRIAL"),  # which is best differs too: the seed is the name
    (r"/tuning-\d{10}/", "/tuning-TIME/"),
    (r"train-nn-\d{6}-\d{14}", "JOB"),
    (r"train-nn-\d{6}", "JOB"),
    (r"serve-nn-\d{8}-\d{6}-\d{6}", "ENDPOINT"),
    (r'"startTime": \d+', '"startTime": TIME'),
    (r'"[nN]extToken": "[^"]*"', '"nextToken": TOKEN'),
)


@dataclass
class Record:
    """What one run of every verb sent and printed."""

    events: list[dict[str, Any]]
    secret: str = field(repr=False)

    def verbs(self) -> dict[str, list[dict[str, Any]]]:
        """The events by verb."""
        found: dict[str, list[dict[str, Any]]] = {}
        for event in self.events:
            if "verb" in event:
                found[event["verb"]] = []
            else:
                found[next(reversed(found))].append(event)
        return found

    def requests(self) -> list[dict[str, Any]]:
        return [event for event in self.events if "method" in event]

    def sent(self, verb: str) -> list[str]:
        """The requests of a verb in a form to compare; one that is repeated counts once.

        Without those of the SDK's thread that tells Amazon of its use, at any time.
        """
        events = [event for event in self.verbs()[verb] if "method" in event]
        lines = [self._line(event) for event in events if event["thread"] != TELLING]
        return list(dict.fromkeys(lines))

    def _line(self, event: dict[str, Any]) -> str:
        url = urlsplit(event["url"])
        path = unquote(url.path).removeprefix(f"/{self.secret}/aws") or "/"
        if bucket := re.match(r"([^.]+)\.s3\.", url.netloc):
            path = f"/{bucket[1]}{path}"
        body = event["body"]
        if body.startswith("{"):
            body = json.dumps(json.loads(body), sort_keys=True)
        # An object's content is sent in pieces over https, and whole over http: its size is told.
        what = event["size"] if event["method"] == "PUT" else body
        if path.endswith("/model.tar.gz"):  # a model that is packed again, with the times in it
            what = "ARCHIVE"
        line = " ".join([event["method"], path.rstrip("/"), url.query, event["operation"], what])
        for pattern, instead in CHANGES:
            line = re.sub(pattern, instead, line)
        # Keys are listed by the names of the jobs, which hold chance and time. Whether a job that
        # is cancelled leaves a model behind, as the one before it did, is a matter of the moment.
        keys = set(re.findall(r"<Object>.*?</Object>", line))
        return re.sub(r"<Object>.*</Object>", "".join(sorted(keys)), line)


@pytest.fixture(scope="module")
def records(
    cloud: Status, archives: Prepared, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Record]:
    """Both targets' records."""
    assert cloud.url
    folder, found = tmp_path_factory.mktemp("records"), {}
    inherited = {name: os.environ[name] for name in ("PATH", "LOCAL_CLOUD_HOME")}
    credentials = {
        "AWS_ACCESS_KEY_ID": "AN-ACCESS-KEY",
        "AWS_SECRET_ACCESS_KEY": "a-secret",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "HOME": str(folder),
    }
    for target in ("local", "cloud"):
        program = Path(__file__).with_name("every_verb.py")
        files = [str(path.resolve()) for path in (archives.train, archives.val)]
        done = subprocess.run(
            [sys.executable, str(program), str(folder / target), *files],
            cwd=folder,
            env={**inherited, "PYTHONPATH": str(ROOT), "LESSON_TARGET": target,
                 "FORWARD_TO": f"{cloud.url}/aws", **(credentials if target == "cloud" else {})},
            capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        events = json.loads((folder / target).read_text())
        found[target] = Record(events, urlsplit(cloud.url).path.strip("/"))
    return found


def test_every_verb_was_called(records: dict[str, Record]) -> None:
    for record in records.values():
        assert set(record.verbs()) == VERBS | {"until it runs"}


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_verb_sends_the_same_to_both_targets(records: dict[str, Record], verb: str) -> None:
    assert records["cloud"].sent(verb) == records["local"].sent(verb)


def test_under_cloud_requests_go_to_amazon_alone_with_credentials(
    records: dict[str, Record],
) -> None:
    requests = records["cloud"].requests()
    for event in requests:
        url = urlsplit(event["url"])
        assert url.scheme == "https" and HOST.match(url.netloc), event["url"]
        assert "Credential=AN-ACCESS-KEY/" in event["authorization"]
    assert "127.0.0.1" not in json.dumps(requests) and "localhost" not in json.dumps(requests)


def test_under_local_requests_go_to_the_local_cloud_alone_without_credentials(
    records: dict[str, Record],
) -> None:
    record = records["local"]
    assert {urlsplit(event["url"]).hostname for event in record.requests()} == {"127.0.0.1"}
    assert all("Credential=LOCALCLOUD/" in event["authorization"] for event in record.requests())


def test_the_sdk_tells_nobody_of_its_use_under_local(records: dict[str, Record]) -> None:
    assert not [event for event in records["local"].events if "told" in event]
    told = [event["told"] for event in records["cloud"].events if "told" in event]
    assert all(urlsplit(url).netloc.startswith("sm-pysdk-t-us-east-1.s3.") for url in told)
    assert told, "it no longer does: then every_verb.py need not look"


@pytest.mark.parametrize("verb", ["train", "train again", "tune", "deploy"])
def test_the_price_is_stated_before_the_first_request_of_a_paid_call(
    records: dict[str, Record], verb: str
) -> None:
    for record in records.values():
        events = record.verbs()[verb]
        first = next(place for place, event in enumerate(events) if "method" in event)
        printed = "".join(event.get("printed", "") for event in events[:first])
        assert re.search(r"costs about \$\d\.\d\d a(n hour| day)", printed)


def test_nothing_but_train_tune_and_deploy_asks_for_machines(records: dict[str, Record]) -> None:
    for verb in VERBS:
        made = [line for line in records["cloud"].sent(verb) if re.search(MACHINES, line)]
        assert len(made) == (1 if verb.startswith(("train", "tune", "deploy")) else 0)


def test_under_cloud_the_words_are_the_clouds(records: dict[str, Record]) -> None:
    printed = "".join(event.get("printed", "") for event in records["cloud"].events)
    assert "cloud: role SageMakerExecutionRole, region us-east-1, bucket s3://recorded; " in printed
    assert "jobs use your account, and cost money" in printed
    assert "costs nothing" not in printed and "lead nowhere" not in printed
