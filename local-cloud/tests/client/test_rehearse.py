"""`local_cloud.rehearse`, in Python and on the command line; what it does to jobs is elsewhere."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import numpy as np
import pytest

import local_cloud
from local_cloud import LocalCloudError
from local_cloud.client import control, rehearse
from local_cloud.client.control import Status
from local_cloud.client.home import Home
from local_cloud.store.records import Records
from tests.client.command_line import command_line


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "a home")
    yield home
    control.stop(home)


def kept(home: Home) -> Any:
    records = Records(home.data / "records.sqlite")
    try:
        return records.get("rehearsal", "next")
    finally:
        records.close()


def test_it_starts_the_local_cloud_and_is_kept_until_it_is_taken_back(own: Home) -> None:
    sentence = rehearse.rehearse(30, own)
    assert sentence == (
        "The spot job that runs now, or else the next one that you send, will be interrupted once,"
        " at epoch 30."
    )
    assert control.status(own).running
    os.kill(control.status(own).facts["pid"], 9)
    while own.running():
        pass
    assert kept(own) == {"epochs": [30], "job": ""}
    assert rehearse.rehearse(None, own) == "The rehearsal is cancelled."
    assert rehearse.rehearse(None, own) == "There was no rehearsal to cancel."
    assert kept(own) is None


@pytest.mark.parametrize(
    ("epochs", "words"),
    [
        ([60, 20], "2 times, at epochs 20 and 60."),
        ((5, 5, 9), "3 times, at epochs 5, 5 and 9."),
        (np.int64(7), "once, at epoch 7."),
        (range(2, 4), "2 times, at epochs 2 and 3."),
    ],
)
def test_one_epoch_or_several(cloud: Status, epochs: Any, words: str) -> None:
    assert local_cloud.rehearse(epoch=epochs).endswith(words)
    assert local_cloud.rehearse(None) == "The rehearsal is cancelled."


@pytest.mark.parametrize(
    "wrong", [0, -3, 1.5, "30", [1, None], [0, 1], [1] * 101, True, [], {}, 10**30]
)
def test_what_is_no_epoch_is_refused_here(wrong: Any) -> None:
    with pytest.raises(LocalCloudError, match="epoch"):
        local_cloud.rehearse(wrong)


def test_a_real_cloud_takes_no_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_CLOUD_TARGET", "cloud")
    with pytest.raises(LocalCloudError, match="LOCAL_CLOUD_TARGET is cloud"):
        local_cloud.rehearse(30)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"epochs": [true]}',
        b'{"epochs": 5}',
        b'{"failure": "x"}',
        b'{"failure": "no quota", "seconds": -1}',
    ],
)
def test_the_server_refuses_what_is_none_too(cloud: Status, body: bytes) -> None:
    request = urllib.request.Request(f"{cloud.url}/rehearse", body, method="POST")
    with pytest.raises(HTTPError) as caught, urllib.request.urlopen(request):
        pass
    assert caught.value.code == 400
    assert json.loads(caught.value.read())["problem"]
    caught.value.close()


def test_a_server_that_knows_no_rehearsals(cloud: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: Any, **__: Any) -> Any:
        raise ValueError("status 404")

    monkeypatch.setattr(control, "status", lambda _: cloud)
    monkeypatch.setattr(control, "ask", ask)
    with pytest.raises(LocalCloudError, match=r"supports no rehearsals .*stop"):
        rehearse.rehearse(3, cloud.home)


def test_the_command_line(own: Home) -> None:
    assert "once, at epoch 30." in command_line(own, "rehearse", "30").stdout
    assert "at epochs 20 and 60." in command_line(own, "rehearse", "20", "60").stdout
    assert command_line(own, "rehearse", "off").stdout == "The rehearsal is cancelled.\n"
    for wrong in (["rehearse"], ["status", "3"]):
        done = command_line(own, *wrong)
        assert (done.returncode, done.stdout) == (2, "")
        assert "`off`" in done.stderr
    assert "rehearse" in command_line(own, "--help").stdout


def waiting(home: Home) -> list[Any]:
    records = Records(home.data / "records.sqlite")
    try:
        return [document for _, document in records.list("rehearsed-failure")]
    finally:
        records.close()


def test_a_failure_is_named_and_kept_until_it_is_taken_back(own: Home) -> None:
    said = rehearse.rehearse("no quota", own, name="mine")
    assert said == (
        "The next job that you send named 'mine' will have this failure: no quota. Your account may"
        " not use that many machines or GPUs."
    )
    assert rehearse.rehearse("out of memory", own, every=True).startswith("Every job that you send")
    os.kill(control.status(own).facts["pid"], 9)
    while own.running():
        pass
    assert [each["failure"] for each in waiting(own)] == ["no quota", "out of memory"]
    assert rehearse.rehearse(None, own) == "The rehearsal is cancelled."
    assert waiting(own) == []


@pytest.mark.parametrize(
    ("what", "more", "words"),
    [
        ("bad luck", {}, "not a failure that can be rehearsed"),
        ("no quota", {"epoch": 3}, "has no epoch"),
        ("slow provisioning", {"seconds": -1}, "from 0 to 3600"),
        ("slow provisioning", {"seconds": float("nan")}, "from 0 to 3600"),
        (30, {"name": "mine"}, "a failure that is named"),
        (30, {"epoch": 40}, "once"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_here(what: Any, more: Any, words: str) -> None:
    with pytest.raises(LocalCloudError, match=words):
        local_cloud.rehearse(what, **more)


def test_a_spot_stop_by_name(cloud: Status) -> None:
    assert local_cloud.rehearse("spot stop", epoch=30).endswith("once, at epoch 30.")
    assert local_cloud.rehearse("spot stop").endswith("once, at epoch 1.")
    local_cloud.rehearse(None)


def test_the_command_line_names_failures(own: Home) -> None:
    assert "out of memory" in command_line(own, "rehearse", "list").stdout
    assert "will have this failure: no quota" in command_line(own, "rehearse", "no", "quota").stdout
    assert "bad luck" in command_line(own, "rehearse", "bad", "luck").stderr
