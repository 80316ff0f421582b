"""The verbs on jobs, through the real SDK, against this worker's local cloud."""

from __future__ import annotations

import itertools
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import local_cloud
from GCP_helpers import cancel, train, wait
from GCP_helpers.stops import Stops
from lesson import LessonError
from testing.visitor import Visitor

Data = dict[str, Any]
OWN_IMAGE = "us-central1-docker.pkg.dev/my-project/images/torch:1"


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "wanted",
    [{"checkpoint_every": 5}, pytest.param({"checkpoint_every": "5"}, marks=pytest.mark.slow)],
)
def test_what_a_stop_costs_is_not_said_of_a_job_with_checkpoints(
    data: Data, capsys: pytest.CaptureFixture[str], wanted: Data
) -> None:
    run = train(data | {"epochs": 3} | wanted, spot=True, wait=False)
    assert "checkpoint_every" not in capsys.readouterr().out
    strategy = run.request["submit"]["scheduling_strategy"]
    assert strategy.name == "SPOT"
    cancel(run)
    with suppress(LessonError):  # it may have ended before, in any way
        wait(run)


@given(st.lists(st.sampled_from(["queued", "starting", "running", "succeeded"])))
def test_a_stop_is_a_wait_for_machines_after_the_job_has_run(states: list[str]) -> None:
    stops = Stops()
    for state in states:
        stops.note(state)
    kept = [state for state in states if state in ("starting", "running")]
    assert stops.count == sum(pair == ("running", "starting") for pair in itertools.pairwise(kept))


def test_a_job_that_waits_and_has_a_start_has_run_before_anybody_looked() -> None:
    stops = Stops()
    looks = [("starting", True), ("starting", True), ("running", True), ("starting", True)]
    assert [stops.note(state, started) for state, started in looks] == [1, 1, 1, 2]
    assert Stops().note("starting", started=False) == 0


@pytest.mark.parametrize("replicas", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_failure_is_a_few_sentences_with_the_exit_code_and_the_scripts_last_line(
    data: Data, replicas: int
) -> None:
    missing = data["train"].replace("train_", "trian_")
    with pytest.raises(LessonError) as caught:
        train(data | {"train": missing}, replicas=replicas)
    message = str(caught.value)
    assert re.match(r"train-nn-\S+ failed\. The replica workerpool[01]-0 exited", message)
    assert "with a non-zero status of 2. Its last line: train_nn.py: --train gs" in message
    assert "\\n" not in message and "\n" not in message and "Traceback" not in message
    cloud = local_cloud.status()
    link = message.rpartition("Its log: ")[2]
    assert link.startswith(f"http://127.0.0.1:{cloud.port}/console/jobs/")
    log = Visitor.of(cloud).follow(link)
    replica = message.partition("The replica ")[2].split()[0]
    assert f'data-replica="{replica}"' in log.text and "trian_" in log.text


def test_a_job_that_fails_before_the_sdks_first_look_is_told_like_any_other(data: Data) -> None:
    sent = train({"val": data["val"]}, wait=False)
    with pytest.raises(LessonError, match="arguments are required: --train"):
        wait(sent)


def test_an_image_that_is_to_be_pushed_draws_its_warning_where_it_would_be_used(
    data: Data, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lesson.services.images._warned", set())
    monkeypatch.setattr("lesson.services.images.target", lambda: "cloud")
    with pytest.raises(LessonError, match="400"):
        train(data, machine="z9")
    assert "build and push it first" in capsys.readouterr().err
