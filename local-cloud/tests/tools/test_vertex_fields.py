"""The committed rules on Vertex AI's fields are those that the locked client library documents."""

from __future__ import annotations

import inspect
import json

import pytest
from google.cloud.aiplatform_v1.types import CustomJob

from local_cloud.google.definitions import vertex_fields as read
from tools import vertex_fields


def test_the_file_is_what_the_locked_library_says() -> None:
    """If Google words a sentence differently, the rule that would vanish is named here."""
    committed = json.loads(read.FILE.read_text(encoding="utf-8"))
    generated = vertex_fields.generate()
    assert not vertex_fields.find_differences(committed, generated)
    assert read.FILE.read_text(encoding="utf-8") == vertex_fields.as_text(generated)


def test_a_sentence_in_other_words_is_a_rule_lost_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    before = vertex_fields.generate()
    text = inspect.getdoc(CustomJob) or ""
    reworded = text.replace("Required. Job spec.", "Job spec; it must be set.").replace(
        "can be up to 128 characters long", "has at most 100 characters"
    )
    monkeypatch.setattr(CustomJob, "__doc__", reworded)
    assert vertex_fields.find_differences(before, vertex_fields.generate()) == [
        "-CustomJob.display_name: at most 128 characters or entries",
        "-CustomJob.job_spec: required",
    ]


def test_a_new_sentence_is_a_new_rule() -> None:
    before = {"CustomJob": {"required": ["job_spec"]}}
    after = {"CustomJob": {"required": ["job_spec"], "longest": {"labels": 64}}}
    assert vertex_fields.find_differences(before, after) == [
        "+CustomJob.labels: at most 64 characters or entries"
    ]


def test_a_field_that_the_installed_library_lacks_has_no_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = {"CustomJob": {"required": ["job_spec", "gone"], "longest": {"gone": 3}}}
    monkeypatch.setattr(read, "_read", lambda: rules)
    assert read.find_required(CustomJob) == {"job_spec"}
    assert read.find_limits(CustomJob) == {}
