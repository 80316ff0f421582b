"""`make drift` says which SDKs moved and which tests fail with the newest."""

from __future__ import annotations

import sys
from pathlib import Path

from tools import drift
from tools.drift import Broken

REPORT = """<testsuites><testsuite tests="3">
<testcase classname="tests.google.gcs.test_wire" name="test_a" time="0.1"/>
<testcase classname="tests.google.gcs.test_wire" name="test_b" time="0.1">
  <failure message="AssertionError: it said 404&#10;and more">trace</failure></testcase>
<testcase classname="tests.AWS_helpers.test_jobs" name="test_c" time="0.1">
  <error message="failed on setup with ImportError: no name"/></testcase>
</testsuite></testsuites>"""


def test_the_sdks_are_free_and_all_else_is_locked() -> None:
    versions = {"boto3": "1.0", "numpy": "2.4.6", "types-pyyaml": "6.0"}
    wanted = drift.requirements({"boto3", "numpy", "types-pyyaml", "protobuf"}, versions)
    assert wanted == ("boto3", "numpy==2.4.6", "protobuf", "types-pyyaml==6.0")


def test_each_sdk_is_one_of_the_projects_requirements() -> None:
    assert {*drift.NEWEST, *drift.MOVE_ALONG, "types-pyyaml"} <= drift.direct_requirements()
    assert all((drift.ROOT / folder).is_dir() for folder in drift.TESTS)


def test_what_broke_is_named_with_its_reason() -> None:
    count, failures = drift.read_report(REPORT)
    assert count == 3
    assert failures == [
        Broken("tests.google.gcs.test_wire::test_b", "AssertionError: it said 404"),
        Broken("tests.AWS_helpers.test_jobs::test_c", "failed on setup with ImportError: no name"),
    ]


def test_what_moved_is_what_has_another_version() -> None:
    before = {"boto3": "1.0", "torch": "2.13.0", "numpy": "2.4.6", "gone": "1"}
    after = {"boto3": "1.1", "torch": "2.13.0+cpu", "numpy": "2.4.6"}
    assert drift.find_moved(before, after) == [("boto3", "1.0", "1.1")]
    text = drift.table([("package", "locked", "newest"), ("boto3", "1.0", "1.1")])
    assert text == "package  locked  newest\nboto3    1.0     1.1"


def test_the_rules_on_fields_are_compared_with_an_environments_sdk() -> None:
    """The locked SDK documents what the committed file says, so that there is nothing to print."""
    assert drift.compare_fields(Path(sys.executable)) == ""


def test_the_table_of_versions_is_written_between_its_marks() -> None:
    page = f"# SDKs\n\n{drift.BEGIN}\n\nold\n\n{drift.END}\n\nMore.\n"
    before, after = dict.fromkeys(drift.NEWEST, "1.0"), dict.fromkeys(drift.NEWEST, "1.1")
    written = drift.versions_page(page, before, after, result="Nothing failed.")
    assert written.startswith(f"# SDKs\n\n{drift.BEGIN}\n\n| SDK |")
    assert written.endswith(f"Nothing failed.\n\n{drift.END}\n\nMore.\n")
    assert "| `boto3` | 1.0 | 1.1 |" in written and "old" not in written
    assert drift.versions_page(written, before, after, result="Nothing failed.") == written


def test_the_documentation_has_the_marks_and_the_locked_versions() -> None:
    page = drift.PAGE.read_text(encoding="utf-8")
    assert page.index(drift.BEGIN) < page.index(drift.END)
    locked = drift.read_lock(drift.make.LOCK.read_text(encoding="utf-8"))
    for name in drift.NEWEST:
        assert f"| `{name}` | {locked[name]} |" in page, "run `make drift`"
