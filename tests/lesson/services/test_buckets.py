"""Which bucket: what is named, then what the environment names, then the local cloud's."""

from __future__ import annotations

import re

import pytest

from lesson import LessonError
from lesson.services.sessions import bucket_name

ALLOWED = re.compile("[a-z]{3,9}")


def test_the_nearest_name_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LESSON_BUCKET", raising=False)
    assert bucket_name(None, "gs://", ALLOWED) == "lesson"
    monkeypatch.setenv("LESSON_BUCKET", "gs://there/")
    assert bucket_name(None, "gs://", ALLOWED) == "there"
    assert bucket_name("here", "gs://", ALLOWED) == "here"


def test_the_real_clouds_have_no_bucket_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LESSON_BUCKET", raising=False)
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    with pytest.raises(LessonError, match="choose a name that nobody else has"):
        bucket_name(None, "gs://", ALLOWED)


@pytest.mark.parametrize("name", ["s3://abc", "abc/def", "ABC", "ab"])
def test_what_the_service_does_not_allow_is_refused(name: str) -> None:
    with pytest.raises(LessonError, match=f"^bucket {name}: no bucket can have this name"):
        bucket_name(name, "gs://", ALLOWED)
