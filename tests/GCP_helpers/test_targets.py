"""One code for both targets: the same requests go to the local cloud and to Google's.

Every verb runs twice, in a process of its own (every_verb.py): under LESSON_TARGET=local as always,
and under LESSON_TARGET=cloud with a transport that writes each request down and only then sends it
to the local cloud. What the SDKs sent has to be the same but for hosts, ids and times.
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
GOOGLE = {"storage.googleapis.com", "us-central1-aiplatform.googleapis.com"}
VERBS = {
    "connect", "upload", "estimate_cost", "train", "train again", "tune", "list_jobs", "cancel",
    "wait", "cleanup", "cleanup again", "deploy", "predict", "register",
    "write_job",
}  # fmt: skip
MACHINES = r"/(customJobs|trainingPipelines|hyperparameterTuningJobs|endpoints/ID:deployModel) "
# What differs between any two runs, and what stands for it in the comparison.
CHANGES = (
    (r"\d{8}-\d{6}-\d{6}", "TIME"),  # in the helpers' names
    (r"\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}", "TIME"),  # in the SDK's names
    (r"\d{16,20}", "ID"),
    (r'"crc32c": "[^"]+"', '"crc32c": "SUM"'),  # a package of code holds the time it was made
    (r"upload_id=[^&]+", "upload_id=ID"),
    # What a job that is cancelled leaves behind, half-written files too, is a matter of the moment.
    (r"(/o/runs/train-nn-TIME/(model|logs))/[^ ]+", r"\1/FILE"),
    (r"(tune-nn-TIME(/|%2F))\d+(/|%2F)", r"\1BEST\3"),  # the search is another with each name
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

        Without those of the storage client's own thread, which looks up a bucket at any time.
        """
        lines = [self._line(event) for event in self.verbs()[verb] if event.get("in_turn")]
        return list(dict.fromkeys(lines))

    def _line(self, event: dict[str, Any]) -> str:
        url = urlsplit(event["url"])
        path = unquote(url.path).removeprefix(f"/{self.secret}")
        body = event["body"]
        if body.startswith("--"):  # multipart: the object's attributes, and then its content
            body = body.split("\r\n")[3]
        if body.startswith("{"):  # a Struct's fields come in any order
            body = json.dumps(json.loads(body), sort_keys=True)
        line = " ".join([event["method"], path, url.query, body])
        for pattern, instead in CHANGES:
            line = re.sub(pattern, instead, line)
        return line


@pytest.fixture(scope="module")
def records(
    cloud: Status, archives: Prepared, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Record]:
    """Both targets' records."""
    assert cloud.url
    folder, found = tmp_path_factory.mktemp("records"), {}
    inherited = {name: os.environ[name] for name in ("PATH", "LOCAL_CLOUD_HOME")}
    for target in ("local", "cloud"):
        program = Path(__file__).with_name("every_verb.py")
        files = [str(path.resolve()) for path in (archives.train, archives.val)]
        done = subprocess.run(
            [sys.executable, str(program), str(folder / target), *files],
            cwd=folder,
            env={**inherited, "PYTHONPATH": str(ROOT), "LESSON_TARGET": target,
                 "FORWARD_TO": cloud.url},
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


def test_under_cloud_requests_go_to_google_alone_with_credentials(
    records: dict[str, Record],
) -> None:
    requests = records["cloud"].requests()
    assert {urlsplit(event["url"]).netloc for event in requests} == GOOGLE
    assert {urlsplit(event["url"]).scheme for event in requests} == {"https"}
    assert {event["authorization"] for event in requests} == {"Bearer a token"}
    # The program that is sent beside a model knows loopback, where it listens in a terminal.
    told = json.dumps([event for event in requests if "/serve_nn.py" not in event["body"]])
    assert "127.0.0.1" not in told and "localhost" not in told


def test_under_local_requests_go_to_the_local_cloud_alone_without_credentials(
    records: dict[str, Record],
) -> None:
    record = records["local"]
    assert {urlsplit(event["url"]).hostname for event in record.requests()} == {"127.0.0.1"}
    assert {event["authorization"] for event in record.requests()} == {None}


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
        made = [line for line in records["cloud"].sent(verb) if line.startswith("POST ")]
        machines = [line for line in made if re.search(MACHINES, line)]
        assert len(machines) == (1 if verb.startswith(("train", "tune", "deploy")) else 0)


def test_under_cloud_the_words_are_the_clouds(records: dict[str, Record]) -> None:
    printed = "".join(event.get("printed", "") for event in records["cloud"].events)
    assert "cloud: project my-project, region us-central1, bucket gs://recorded; " in printed
    assert "jobs use your account, and cost money" in printed
    assert "costs nothing" not in printed and "lead nowhere" not in printed
