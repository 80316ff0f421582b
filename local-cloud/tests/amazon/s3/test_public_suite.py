"""A public suite of tests of S3: what passes once goes on passing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.amazon.s3 import public_suite


def outcome(
    outcome: str, why: str = "", *, is_verified: bool = False, servers: tuple[str, ...] = ("ours",)
) -> dict[str, object]:
    result = {"outcome": outcome, "why": why, "is_verified": is_verified}
    return result | {"servers": list(servers)}


def test_what_counts_and_what_does_not() -> None:
    elsewhere = "not implemented in the local cloud: AWSEvents.PutRule"
    missing = "not implemented in the local cloud: S3 PutObject ACL=public-read"
    counts = public_suite.summary(
        {
            "a": outcome("passed", is_verified=True),
            "b": outcome("passed"),
            "c": outcome("failed", missing, is_verified=True),
            "d": outcome("failed", "assert 'NotImplemented' == 'NoSuchKey'"),
            "e": outcome("failed", "assert 1 == 2"),
            "f": outcome("skipped", "Only in decorator mode"),
            "g": outcome("failed", elsewhere),
            "h": outcome("passed", servers=()),
            "i": outcome("passed", servers=("localhost:5000", "ours")),
        }
    )
    assert counts["all"] == {"passed": 2, "run": 5}
    assert counts[public_suite.REAL] == {"passed": 1, "run": 2}
    assert counts["fail, for an operation or a value is not implemented"] == {"PutObject ACL=": 1}
    assert counts["fail, for another error than `not implemented` was expected"] == ["d"]
    assert counts["fail otherwise"] == ["e"]
    assert sum(counts["do not apply"].values()) == 4


@pytest.mark.slow
def test_no_fewer_tests_pass_than_are_written_down() -> None:
    known = json.loads(public_suite.RESULTS.read_text(encoding="utf-8"))
    command = [sys.executable, *public_suite.COMMAND.split()[1:]]
    done = subprocess.run(command, cwd=public_suite.ROOT, stdout=subprocess.PIPE, check=True)
    content = json.loads(done.stdout)
    for count in ("all", public_suite.REAL):
        assert content[count]["run"] == known[count]["run"]
        assert content[count]["passed"] >= known[count]["passed"], content
