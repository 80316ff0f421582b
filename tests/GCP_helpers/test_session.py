"""Connecting: what must be known, and what is said when it is not."""

from __future__ import annotations

from typing import Any

import pytest

from GCP_helpers.session import Session, connect
from lesson import LessonError


def test_the_cloud_target_needs_a_project_or_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from google.auth.exceptions import DefaultCredentialsError

    def nothing(*_: Any, **__: Any) -> None:
        raise DefaultCredentialsError("none")

    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.setattr("google.auth.default", nothing)
    with pytest.raises(LessonError, match="gcloud auth application-default login"):
        connect(bucket="some-bucket")
    monkeypatch.setattr("google.auth.default", lambda: (None, None))
    with pytest.raises(LessonError, match="no project is known"):
        connect(bucket="some-bucket")


def test_the_label_of_a_bucket_with_dots_is_a_label() -> None:
    assert Session("cloud", "p", "r", "my.bucket").labels == {"made_by_lesson": "my_bucket"}
