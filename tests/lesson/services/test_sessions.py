"""The learner's name, by which jobs of people who share an account differ."""

from __future__ import annotations

import pytest

from lesson.services.sessions import learner


@pytest.mark.parametrize(
    ("target", "named", "expected"),
    [
        ("local", "", "me"),  # nobody shares the local cloud
        ("cloud", "", "jovyan"),
        ("cloud", "Ada", "ada"),
        ("local", "Ada Lovelace", "adalovel"),
        ("cloud", "…", "me"),
    ],
)
def test_the_name_is_the_one_given_else_that_of_the_user(
    target: str, named: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LESSON_TARGET", target)
    monkeypatch.setenv("LESSON_NAME", named)
    monkeypatch.setattr("getpass.getuser", lambda: "jovyan")
    assert learner() == expected
