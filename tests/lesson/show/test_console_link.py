"""The link to the console: it signs in once, whoever has it."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

import lesson
from local_cloud import Status


def test_the_link_opens_the_console_once(cloud: Status, capsys: pytest.CaptureFixture[str]) -> None:
    lesson.console()
    link, how_long = capsys.readouterr().out.splitlines()
    assert link.startswith(f"http://127.0.0.1:{cloud.port}/console/enter?code=")
    assert "works once" in how_long
    keeps_cookies = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    page = keeps_cookies.open(link).read().decode()
    assert "Sign in" not in page and "<nav" in page
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.build_opener().open(link)


def test_the_real_clouds_have_consoles_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    with pytest.raises(lesson.LessonError, match="console of Google Cloud or of AWS"):
        lesson.console()


def test_a_proxy_that_is_no_url_is_refused_in_a_sentence(cloud: Status) -> None:
    with pytest.raises(lesson.LessonError, match="'hub' is not a URL"):
        lesson.console("hub")
