"""One code for both targets: the same requests go to the local cloud and to the real one.

Every verb runs twice, in a process of its own (every_verb.py): under LESSON_TARGET=local as always,
and under LESSON_TARGET=cloud with a transport that writes each request down and only then sends it
to the local cloud. What the SDKs sent has to be the same but for hosts, names, ids and times.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest

from lesson.preparation import Prepared
from local_cloud import Status
from tests.AWS_helpers import recording as amazon
from tests.GCP_helpers import recording as google
from tests.helpers.sides import ROOT, Side, both_sides

RECORDING: dict[str, ModuleType] = {"Google": google, "Amazon": amazon}
VERBS = {
    "connect", "upload", "estimate_cost", "train", "train again", "tune", "list_jobs", "cancel",
    "wait", "cleanup", "cleanup again", "deploy", "predict", "register",
    "write_job",
}  # fmt: skip
GOOGLES = {"storage.googleapis.com", "us-central1-aiplatform.googleapis.com"}
AMAZONS = re.compile(
    r"(([a-z0-9-]+\.)?s3|((api|runtime)\.)?sagemaker|logs|sts|iam)(\.[a-z0-9-]+)?\.amaz"
)
CREDENTIALS = {  # what a process needs under LESSON_TARGET=cloud
    "Google": {},
    "Amazon": {
        "AWS_ACCESS_KEY_ID": "AN-ACCESS-KEY",
        "AWS_SECRET_ACCESS_KEY": "a-secret",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    },
}
WORDS = {
    "Google": "cloud: project my-project, region us-central1, bucket gs://recorded; ",
    "Amazon": "cloud: role SageMakerExecutionRole, region us-east-1, bucket s3://recorded; ",
}
pytestmark = both_sides(fast="Google")


@dataclass
class Record:
    """What one run of every verb sent and printed."""

    cloud: str
    events: list[dict[str, Any]]
    secret: str = field(repr=False)

    def verbs(self) -> dict[str, list[dict[str, Any]]]:
        """The events by verb."""
        events: dict[str, list[dict[str, Any]]] = {}
        for event in self.events:
            if "verb" in event:
                events[event["verb"]] = []
            else:
                events[next(reversed(events))].append(event)
        return events

    def requests(self) -> list[dict[str, Any]]:
        return [event for event in self.events if "method" in event]

    def sent(self, verb: str) -> list[str]:
        """The requests of a verb in a form to compare; one that is repeated counts once.

        Without those that an SDK's own thread sends at any time.
        """
        line = RECORDING[self.cloud].line
        lines = [line(event, self.secret) for event in self.verbs()[verb] if event.get("in_turn")]
        return list(dict.fromkeys(lines))


Records = dict[str, Record]


@pytest.fixture(scope="module")
def records_of(
    cloud: Status, archives: Prepared, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Records]:
    """Make both targets' records of a side, once."""
    assert cloud.url
    url, secret = cloud.url, urlsplit(cloud.url).path.strip("/")
    forward_to = {"Google": url, "Amazon": f"{url}/aws"}
    files = [str(path.resolve()) for path in (archives.train, archives.val)]

    @cache
    def made(side: str) -> Records:
        folder, records = tmp_path_factory.mktemp("records"), {}
        for target in ("local", "cloud"):
            inherited = {name: os.environ[name] for name in ("PATH", "LOCAL_CLOUD_HOME")}
            own = {"PYTHONPATH": str(ROOT), "LESSON_TARGET": target, "FORWARD_TO": forward_to[side]}
            if target == "cloud":
                own |= {"HOME": str(folder), **CREDENTIALS[side]}
            record = folder / target
            done = subprocess.run(
                [sys.executable, "-m", "tests.helpers.every_verb", side, str(record), *files],
                cwd=folder,
                env=inherited | own,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr[-3000:]
            records[target] = Record(side, json.loads(record.read_text()), secret)
        return records

    return made


@pytest.fixture
def records(side: Side, records_of: Callable[[str], Records]) -> Records:
    """Both targets' records."""
    return records_of(side.cloud)


def test_every_verb_was_called(records: Records) -> None:
    for record in records.values():
        assert set(record.verbs()) == VERBS | {"until it runs"}


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_verb_sends_the_same_to_both_targets(records: Records, verb: str) -> None:
    assert records["cloud"].sent(verb) == records["local"].sent(verb)


def is_program(body: str) -> bool:
    """Whether a request uploads serve_nn.py or train_nn.py."""
    return "/serve_nn.py" in body or "/train_nn.py" in body


def test_under_cloud_requests_go_to_the_service_alone_with_credentials(
    side: Side, records: Records
) -> None:
    requests = records["cloud"].requests()
    hosts = {urlsplit(event["url"]).netloc for event in requests}
    assert {urlsplit(event["url"]).scheme for event in requests} == {"https"}
    if side.cloud == "Google":
        assert hosts == GOOGLES
        assert {event["authorization"] for event in requests} == {"Bearer a token"}
        # What is sent beside a model knows loopback, where it listens in a terminal.
        requests = [event for event in requests if not is_program(event["body"])]
    else:
        assert all(AMAZONS.match(host) for host in hosts), hosts
        assert all("Credential=AN-ACCESS-KEY/" in event["authorization"] for event in requests)
    told = json.dumps(requests)
    assert "127.0.0.1" not in told and "localhost" not in told


def test_under_local_requests_go_to_the_local_cloud_alone_without_credentials(
    side: Side, records: Records
) -> None:
    requests = records["local"].requests()
    assert {urlsplit(event["url"]).hostname for event in requests} == {"127.0.0.1"}
    if side.cloud == "Google":
        assert {event["authorization"] for event in requests} == {None}
    else:
        assert all("Credential=LOCALCLOUD/" in event["authorization"] for event in requests)


def test_the_sdk_tells_nobody_of_its_use_under_local(side: Side, records: Records) -> None:
    assert not [event for event in records["local"].events if "told" in event]
    told = [event["told"] for event in records["cloud"].events if "told" in event]
    assert all(urlsplit(url).netloc.startswith("sm-pysdk-t-us-east-1.s3.") for url in told)
    assert (len(told) > 0) == (side.cloud == "Amazon"), "then recording.py need not look"


@pytest.mark.parametrize("verb", ["train", "train again", "tune", "deploy"])
def test_the_price_is_stated_before_the_first_request_of_a_paid_call(
    records: Records, verb: str
) -> None:
    for record in records.values():
        events = record.verbs()[verb]
        first = next(place for place, event in enumerate(events) if "method" in event)
        printed = "".join(event.get("printed", "") for event in events[:first])
        assert re.search(r"costs about \$\d\.\d\d a(n hour| day)", printed)


def test_nothing_but_train_tune_and_deploy_asks_for_machines(side: Side, records: Records) -> None:
    machines = RECORDING[side.cloud].MACHINES
    for verb in VERBS:
        made = [line for line in records["cloud"].sent(verb) if re.search(machines, line)]
        assert len(made) == (1 if verb.startswith(("train", "tune", "deploy")) else 0)


def test_under_cloud_the_words_are_the_clouds(side: Side, records: Records) -> None:
    printed = "".join(event.get("printed", "") for event in records["cloud"].events)
    assert WORDS[side.cloud] in printed
    assert "jobs use your account, and cost money" in printed
    assert "costs nothing" not in printed and "lead nowhere" not in printed
