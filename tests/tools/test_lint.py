"""The rules of a lesson: for each, pages that break it and nothing else, and pages that may pass.

Every change is made to the small lesson of conftest.py, which has no errors. The rules on words are
in test_lint_words.py.
"""

import pytest

from tests.tools import lint_cases_of_lessons, lint_cases_of_pages, test_lint_words
from tests.tools.changes import (
    PAGE,
    cases,
    insert,
    names,
    swap,
)
from tests.tools.lint_cases_of_lessons import DISCUSSION
from tests.tools.lint_cases_of_pages import TABLE
from tools.lint import Lesson, all_rules, lint_lesson
from tools.pages.folder import ROOT

BROKEN = lint_cases_of_lessons.BROKEN | lint_cases_of_pages.BROKEN
FINE = lint_cases_of_lessons.FINE | lint_cases_of_pages.FINE


@pytest.mark.parametrize(("rule", "change"), cases(BROKEN))
def test_what_breaks_a_rule_is_found_and_nothing_else(clean_lesson, rule, change):
    change(clean_lesson)
    assert names(clean_lesson) == {rule}


@pytest.mark.parametrize(("rule", "change"), cases(FINE))
def test_what_a_rule_allows_is_no_error(clean_lesson, rule, change):
    change(clean_lesson)
    assert lint_lesson(Lesson(clean_lesson)) == []


def test_every_rule_has_a_case_and_a_docstring():
    assert {*BROKEN, *test_lint_words.BROKEN} == set(all_rules()) and set(FINE) <= set(BROKEN)
    assert all(rule.__doc__ for rule in all_rules().values())


def test_the_clean_lesson_has_no_errors(clean_lesson):
    assert lint_lesson(Lesson(clean_lesson)) == []


def test_this_lesson_has_no_errors():
    assert list((ROOT / "episodes").glob("*.md"))
    assert [str(finding) for finding in lint_lesson(Lesson(ROOT))] == []


@pytest.mark.parametrize(
    "name", ["config.yaml", "index.md", "links.md", "learners/setup.md", "instructors"]
)
def test_a_missing_file_is_named_whatever_else_needs_it(clean_lesson, name):
    for path in sorted((clean_lesson / name).glob("*")) or [clean_lesson / name]:
        path.unlink()
        rules = {f.rule for f in lint_lesson(Lesson(clean_lesson)) if f.path.startswith(name)}
        assert rules & {"root-file", "lesson-page"}


@pytest.mark.parametrize(
    ("teaching", "wanted"), [(0, 0), (15, 1), (16, 2), (29, 2), (30, 2), (31, 3), (46, 4)]
)
def test_each_begun_quarter_of_an_hour_of_teaching_has_an_exercise(clean_lesson, teaching, wanted):
    swap("teaching: 15", f"teaching: {teaching}")(clean_lesson)
    for more in range(max(0, wanted - 1)):
        assert "exercise-often" in names(clean_lesson), f"with {more + 1} exercises"
        insert(DISCUSSION)(clean_lesson)
    assert "exercise-often" not in names(clean_lesson)


@pytest.mark.parametrize(("teaching", "fits"), [(14, False), (15, True), (55, True), (56, False)])
def test_an_episode_takes_20_to_60_minutes(clean_lesson, teaching, fits):
    swap("teaching: 15", f"teaching: {teaching}")(clean_lesson)
    assert ("episode-length" not in names(clean_lesson)) == fits


@pytest.mark.parametrize("kind", ["instructor", "hint"])
def test_what_is_not_gone_through_with_learners_takes_no_time(clean_lesson, kind):
    insert(f"::: {kind}\n\n{'word ' * 300}\n\n:::")(clean_lesson)
    assert not {"exercise-gap", "pace-teaching"} & names(clean_lesson)
    insert("word " * 300)(clean_lesson)
    assert {"exercise-gap", "pace-teaching"} <= names(clean_lesson)


def test_other_spellings_of_python_are_told_to_be_python(clean_lesson):
    insert("```py\nx = 1\n```")(clean_lesson)
    (finding,) = lint_lesson(Lesson(clean_lesson))
    assert "write `python`" in finding.message


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("One.\n\n[Text](http://example.org)", "http://example.org"),
        ('![A](fig/dots.svg){alt="a\nb\nc"}\n\nIt is just a number.', "just"),
        ("[a\nb](setup.md\n'c') is\njust a number.", "just"),
        ("Text.\n\n::: callout\n\n> a\n> - b\n\n:::", "- b"),
        (f"{TABLE}\n| e |", "| e |"),
    ],
)
def test_a_finding_names_its_line(clean_lesson, text, at):
    insert(text)(clean_lesson)
    (finding,) = lint_lesson(Lesson(clean_lesson))
    assert at in (clean_lesson / PAGE).read_text().split("\n")[finding.line - 1]
