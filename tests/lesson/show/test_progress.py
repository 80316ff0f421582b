"""The live progress bar: what it says, and how it shows itself where."""

from __future__ import annotations

import io
import os
import pty
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lesson.show import curve
from lesson.show.progress import (
    PLAIN_EVERY,
    RED,
    Display,
    Progress,
    colour,
    in_notebook,
    markup,
    text,
)

HALF = Progress("training", 25, 50, loss=0.4321, score=0.8123, seconds=12.3, cost=0.00075)
WORDS = "training  epoch 25 of 50  validation loss 0.4321  accuracy 0.8123  12 s  about $0.00075"


def test_the_line_has_a_bar_and_says_all_that_is_known() -> None:
    assert text(HALF) == f"[##########..........] {WORDS}"


def test_what_is_not_known_yet_is_left_out() -> None:
    assert text(Progress("queued", seconds=2)) == f"[{'.' * 20}] queued  2 s"
    assert "epoch 3  " in text(Progress("running", epoch=3))


@pytest.mark.parametrize(
    ("state", "count", "words"),
    [
        ("starting", 1, "starting  interrupted once, resumes  3 s"),
        ("queued", 2, "queued  interrupted twice, resumes  3 s"),
        ("succeeded", 3, "succeeded  interrupted 3 times  3 s"),
        ("failed", 1, "failed  interrupted once  3 s"),
    ],
)
def test_a_job_that_was_interrupted_says_so(state: str, count: int, words: str) -> None:
    assert Progress(state, seconds=3, interruptions=count).words() == words


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(30, 200))
def test_the_line_is_never_wider_than_asked(epoch: int, epochs: int, width: int) -> None:
    line = text(Progress("training", epoch, epochs), width)
    assert len(line) <= width and line.count("#") + line.count(".") >= 20


def test_a_narrow_line_leaves_out_whole_words() -> None:
    done = replace(HALF, state="succeeded", service_state="Completed", seconds=1)
    kept = "epoch 25 of 50  accuracy 0.8123  1 s"
    assert text(done, 79) == f"[####################] succeeded  {kept}"
    assert text(done, 90) == f"[####################] succeeded (Completed)  {kept}"
    assert text(replace(done, service_state=""), 79) == text(done, 79)


class Elements(HTMLParser):
    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: dict[str, dict[str, str | None]] = {}
        self.words = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found[tag] = dict(attributes)

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_notebooks_bar_tells_readers_what_it_shows() -> None:
    elements = Elements(markup(HALF))
    bar = elements.found["progress"]
    assert bar["max"] == "1" and bar["value"] == "0.500"
    words = WORDS.replace("  ", " · ")  # two blanks are one in a browser
    assert bar["aria-label"] and bar["aria-valuetext"] == words
    assert elements.words.strip() == words


def test_a_job_that_stopped_early_and_well_is_done() -> None:
    assert Progress("succeeded", 170, 1000).share == 1
    assert Progress("failed", 170, 1000).share == 0.17


def test_a_bar_without_a_known_end_has_no_value() -> None:
    assert "value" not in Elements(markup(Progress("queued"))).found["progress"]


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_the_bar_of_a_job_that_never_trained_stands_still(state: str) -> None:
    assert Elements(markup(Progress(state))).found["progress"]["value"] == "0.000"


def test_the_bar_of_a_job_that_has_failed_is_red_and_has_a_cross() -> None:
    elements = Elements(markup(Progress("failed")))
    assert elements.found["progress"]["style"] == f"accent-color: {RED}"
    assert elements.words == " ✘ failed · 0 s"  # the cross is hidden from those who hear the word
    assert RED not in markup(HALF)


def test_the_curve_of_a_job_goes_down_with_its_loss_and_is_told_in_words() -> None:
    shown = Progress("running", curve=[(1, 0.9), (50, 0.5), (100, 0.4)]).markup()
    assert "validation loss: 0.9000 in epoch 1, 0.4000 in epoch 100" in shown
    line = next(part for part in shown.split('"') if "," in part and part[0].isdigit())
    across, down = zip(*(map(float, point.split(",")) for point in line.split()), strict=True)
    assert list(across) == sorted(across) and across[0] > 0 and across[-1] < curve.WIDTH
    assert list(down) == sorted(down) and down[0] > 0 and down[-1] < curve.HEIGHT
    assert "<svg" not in Progress("running", curve=[(1, 0.9)]).markup()
    level = Progress("running", curve=[(epoch, 0.5) for epoch in range(9999)]).markup()
    assert level.count(",") < 2 * curve.MOST and "in epoch 9998" in level


def test_a_state_is_text_not_markup() -> None:
    assert "<b>" not in markup(Progress("<b>"))


def test_into_a_file_goes_a_line_now_and_then_and_at_each_change_of_state() -> None:
    clock = iter([0.0, 1.0, 2.0, 2.0 + PLAIN_EVERY]).__next__
    stream = io.StringIO()
    display = Display(stream, now=clock)
    for state in ("queued", "queued", "training", "training"):
        display.show(Progress(state))
    display.close()
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == [
        "queued", "training", "training",
    ]  # fmt: skip


def test_into_a_file_goes_the_last_news_too_although_it_was_not_due() -> None:
    stream = io.StringIO()
    display = Display(stream, now=lambda: 0.0)
    for epoch in (4, 5):
        display.show(Progress("succeeded", epoch, 5))
    display.close()
    assert [line.split()[3] for line in stream.getvalue().splitlines()] == ["4", "5"]


def test_a_terminals_line_is_overwritten_in_place() -> None:
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as stream:
        display = Display(stream)
        display.show(HALF)
        display.show(Progress("succeeded", seconds=13))
        display.close()
        shown = ""
        while not shown.endswith("\n"):  # a terminal may hand over less than it was given
            shown += os.read(leader, 4096).decode()
    os.close(leader)
    assert shown.count("\n") == 1 and shown.endswith("succeeded  13 s\r\n")
    assert shown.count("\r\033[K") == 2
    assert "\033[32m[####################]\033[0m succeeded" in shown  # green, and the end of it


def test_colour_is_for_ends_and_for_those_who_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert colour("[#] running", "running") == "[#] running"
    assert colour("[.] failed", "failed") == "\033[31m[.]\033[0m failed"
    monkeypatch.setenv("NO_COLOR", "1")
    assert colour("[.] failed", "failed") == "[.] failed"


def test_outside_a_notebook_there_is_none() -> None:
    assert not in_notebook()
