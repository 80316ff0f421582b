"""uv's words: one line of them, however much it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_cloud.engine.environments import uv


def test_a_failure_says_the_words_behind_error() -> None:
    said = "Using Python\nerror: Failed to build `x`\n  cause: it is broken\nhint: try again"
    assert str(uv.UvFailed(said)) == "Failed to build `x`: it is broken"
    assert str(uv.UvFailed("no such word")) == "no such word"
    assert str(uv.UvFailed("")) == "it said nothing"


def test_only_the_end_of_very_many_words_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a package whose build prints gigabytes."""
    program = tmp_path / "uv"
    program.write_text(
        '#!/bin/sh\necho "error: begins" >&2\nyes | head -c 1000000 >&2\n'
        'echo "and ends" >&2\nexit 1\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(uv, "program", lambda: program)
    monkeypatch.setattr(uv, "MOST_SAID", 1000)
    with pytest.raises(uv.UvFailed, match=r"y y and ends$") as caught:
        uv.pip([], {"PATH": "/usr/bin:/bin"}, None)
    assert len(str(caught.value)) <= uv.LONGEST + 2
