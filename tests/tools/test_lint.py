"""Every rule of the lint: a page or a folder that breaks it, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.folder import ROOT
from tools.lint import Lesson, all_rules, lint_lesson, lint_page
from tools.lint.__main__ import main

PAGE = "episodes/01-count.md"
Break = Callable[[Path], None]


def swap(old: str, new: str, name: str = PAGE) -> Break:
    """Break the lesson by replacing text in one of its files."""

    def change(root: Path) -> None:
        text = (root / name).read_text(encoding="utf-8")
        assert old in text
        (root / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def insert(text: str) -> Break:
    """Break the episode by adding text before its second section."""
    return swap("## Count them\n", f"{text}\n\n## Count them\n")


def write(name: str, content: bytes) -> Break:
    """Break the lesson by writing a file."""

    def change(root: Path) -> None:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(content)

    return change


def both(first: Break, second: Break) -> Break:
    """Break the lesson in two ways, which only together break a rule."""
    return lambda root: (first(root), second(root))[0]


def remove(name: str) -> Break:
    """Break the lesson by removing a file."""
    return lambda root: (root / name).unlink()


def config(old: str, new: str) -> Break:
    """Break config.yaml."""
    return swap(old, new, "config.yaml")


FRONT = '---\ntitle: "Count things"'
HINT = "::: hint\n\n#### Think"
SOLUTION = "::: solution\n"
END = "::: keypoints"
DISCUSSION = "::: discussion\n\nWhy?\n\n:::"
AIMS = "::: objectives\n\n- Count things with Python.\n\n:::"  # of index.md

BROKEN: list[tuple[str, Break]] = [
    ("readable", write("learners/more.md", b"\xff\xfe")),
    ("front-matter", swap(FRONT, f"\n{FRONT}")),
    ("front-matter", swap(FRONT, '---\n\ntitle: "Count things"')),
    ("front-matter", swap(FRONT, "---\ntitle: Count: things")),
    ("front-matter", swap("exercises: 5\n---\n", "exercises: 5\n")),
    ("front-matter-title", swap('title: "Count things"', 'title: ""')),
    ("front-matter-title", swap("title: Set-up", "name: Set-up", "learners/setup.md")),
    ("front-matter-title", swap("title: Licences", "name: Licences", "LICENSE.md")),
    ("front-matter-times", swap("teaching: 15\n", "")),
    ("front-matter-times", swap("teaching: 15", 'teaching: "10"')),
    ("front-matter-times", swap("exercises: 5", "exercises: 5.5")),
    ("heading-first", swap("## Tools", "### Tools {#tools}", "learners/setup.md")),
    ("heading-level-one", insert("# One")),
    ("heading-level-one", swap("Open an", "# Contribute\n\nOpen an", "CONTRIBUTING.md")),
    ("heading-jump", insert("## Two\n\n#### Four")),
    ("heading-empty", insert("###")),
    ("heading-unique", insert("### Same\n\n### Same")),
    ("heading-unique", insert("::: callout\n\n### Why three\n\n:::")),
    ("div-balance", insert("::: callout\n\nNever closed.")),
    ("div-balance", insert("Text.\n\n:::")),
    ("div-fence", insert("::: callout\n\nText.\n\n" + ":" * 81)),
    ("div-fence", insert("::: two words")),
    ("div-class", insert("::: warning\n\nText.\n\n:::")),
    ("div-class", insert("::: {.callout .Solution}\n\nText.\n\n:::")),
    ("div-class", insert("::: {#id}\n\nText.\n\n:::")),
    ("div-required", swap("::: questions\n\n- How are things counted?\n\n:::\n", "")),
    ("div-required", swap("::: objectives\n\n- Count three things with Python.\n\n:::\n", "")),
    ("div-required", swap("::: keypoints\n\n- Things are counted one by one.\n\n:::\n", "")),
    ("div-required", insert("::: objectives\n\n- Count.\n\n:::")),
    ("div-order", swap("---\n\n::: questions", "---\n\nText.\n\n::: questions")),
    ("div-order", lambda root: append(root, "\nText.\n")),
    ("div-list", swap("- How are", "How are")),
    ("div-list", swap("- Things are", "Things are")),
    ("div-in-challenge", insert("::: solution\n\nText.\n\n:::")),
    ("div-in-challenge", insert("::: callout\n\n::: hint\n\nText.\n\n:::\n\n:::")),
    ("challenge-parts", swap("::: instructor\n", "More.\n\n::: instructor\n")),
    ("div-tab", insert("::: tab\n\n| a | b |\n| --- | --- |\n| c | d |\n\n:::")),
    ("div-tab", insert("::: group-tab\n\n::: callout\n\nText.\n\n:::\n\n:::")),
    ("blank-line-fence", insert("Text.\n::: callout\n\nText.\n\n:::")),
    ("blank-line-fence", insert("::: callout\n\nText.\n\n:::\nText.")),
    ("blank-line-fence", insert("::: callout\nText.\n\n:::")),
    ("blank-line-fence", insert("::: callout\n\nText.\n:::")),
    ("blank-line-fence", insert("Text.\n```text\na\n```")),
    ("blank-line-fence", insert("```text\na\n```\nText.")),
    ("blank-line-heading", insert("Text.\n### Heading")),
    ("blank-line-list", insert("Text.\n- item")),
    ("blank-line-list", insert("### Heading\n1. item")),
    ("code-closed", insert("~~~text\nNever closed.")),
    ("comment-closed", insert("<!-- Never closed.")),
    ("code-info", insert("```{python}\nx = 1\n```")),
    ("code-info", insert("```python display\nx = 1\n```")),
    ("code-info", insert("```py\nx = 1\n```")),
    ("code-info", insert("```Python\nx = 1\n```")),
    ("code-info", insert("```{.python3}\nx = 1\n```")),
    ("code-info", insert("~~~ipython {.display}\nx = 1\n~~~")),
    ("code-output", insert("```output\n1\n```")),
    ("code-output", insert("```python\nx\n```\n\nText.\n\n```output\n1\n```")),
    ("code-output", insert("```{.python .display}\nx\n```\n\n```output\n1\n```")),
    ("code-in-hint", swap("{.python .display}", "python")),
    ("link-scheme", insert("[Text](javascript:alert)")),
    ("link-https", insert("[Text](http://example.org)")),
    ("link-https", insert("<http://example.org>")),
    ("link-target", insert("[Text]()")),
    ("link-file", insert("[Text](missing.md)")),
    ("link-file", insert('![Text](fig/missing.svg){alt=""}')),
    ("link-file", insert("[Text](/etc/hostname)")),
    ("link-file", insert("[Text](a%00b.md)")),
    ("link-file", insert(f"[Text]({'long' * 100}.md)")),
    ("link-asset", swap("](fig/dots.svg)", "](../CITATION.cff)")),
    ("link-fragment", insert("[Text](#missing)")),
    ("link-fragment", insert("[Text](../learners/setup.md#missing)")),
    ("link-fragment", insert("### 1. First\n\n[Text](#first)")),
    ("link-fragment", insert("### 1. First\n\n[Text](#1-first)")),
    ("link-fragment", insert("### First {#other}\n\n[Text](#first)")),
    ("link-label", insert("[Text](python)")),
    ("link-undefined", insert("[Text][nowhere]")),
    ("link-text", insert("[here](setup.md)")),
    ("link-text", insert("[**This link**](setup.md)")),
    ("link-text", insert("[read more about](setup.md)")),
    ("link-text", swap("Open an issue", "[Here](https://example.org)", "CONTRIBUTING.md")),
    ("link-text", insert("[x](setup.md)")),
    ("image-alt", insert("![Text](fig/dots.svg)")),
    ("image-alt", insert('<img src="fig/dots.svg">')),
    ("exercise-exists", lambda root: write(PAGE, no_exercise(root))(root)),
    (
        "exercise-often",
        both(swap("teaching: 15", "teaching: 16"), swap(END, "word " * 60 + f"\n\n{END}")),
    ),
    (
        "exercise-gap",
        both(swap("teaching: 15", "teaching: 16"), swap(END, f"{DISCUSSION}\n\n{END}")),
    ),
    ("episode-length", swap("teaching: 15", "teaching: 14")),
    (
        "episode-length",
        both(swap("exercises: 5", "exercises: 46"), swap("(5 minutes)", "(46 minutes)")),
    ),
    ("exercise-minutes", swap("four (5 minutes)", "four")),
    ("exercise-sum", swap("exercises: 5", "exercises: 6")),
    (
        "exercise-solution",
        lambda root: write(PAGE, cut(root, SOLUTION, ":::\n\n:::\n\n::: keypoints"))(root),
    ),
    ("objective-verb", swap("- Count three", "- Understand three")),
    ("word-belittling", insert("It is simply a number.")),
    ("objective-verb", swap("- Count things", "- Learn", "index.md")),
    ("word-belittling", swap("Open", "Simply open", "CONTRIBUTING.md")),
    ("word-belittling", insert("### Just a number")),
    ("word-belittling", insert("[obviously a number](setup.md)")),
    ("word-contraction", insert("It's. Don't. We’ll. You're.")),
    ("root-file", remove("CITATION.cff")),
    ("root-file", remove("LICENSE.md")),
    ("root-file", remove("CONTRIBUTING.md")),
    ("lesson-page", remove("learners/reference.md")),
    ("lesson-page", remove("profiles/learner-profiles.md")),
    ("episode-name", lambda root: rename(root, "count.md")),
    ("index-site", swap("site: sandpaper::sandpaper_site", "site: other", "index.md")),
    ("lesson-objectives", swap("objectives", "callout", "index.md")),
    ("lesson-objectives", swap("- Count", "Count", "index.md")),
    ("lesson-objectives", swap(AIMS, "## Objectives\n\n## More\n\n- One", "index.md")),
    ("conduct-link", write("CODE_OF_CONDUCT.md", b"---\ntitle: Conduct\n---\n\nBe kind.\n")),
    ("glossary", swap("## Glossary", "## Words", "learners/reference.md")),
    ("prerequisites", swap("::: prereq", "::: callout", "index.md")),
    ("gitignore", swap("site/*\n", "", ".gitignore")),
    ("config-readable", config("title: ", "title: a: ")),
    ("config-key", config("keywords: counting, lesson\n", "")),
    ("config-value", config("life_cycle: pre-alpha", "life_cycle: done")),
    ("config-value", config("carpentry: incubator", "carpentry: other")),
    ("config-value", config("created: 2026-01-31", "created: ~")),
    ("config-value", config("https://github.com", "http://github.com")),
    ("config-value", config("contact: team@example.org", "contact: team")),
    ("config-value", config("learners:", "learners: setup.md")),
    ("config-file", config("- 01-count.md", "- 01-count.md\n- 02-more.md")),
    ("config-instructors", lambda root: other_notes(root)),
]


def append(root: Path, text: str) -> None:
    with (root / PAGE).open("a") as page:
        page.write(text)


def cut(root: Path, start: str, end: str) -> bytes:
    """The episode without what is from `start` to (not including) `end`."""
    text = (root / PAGE).read_text()
    return (text[: text.index(start)] + text[text.index(end) + len(":::\n\n") :]).encode()


def no_exercise(root: Path) -> bytes:
    text = (root / PAGE).read_text()
    return (text[: text.index("::: challenge")] + text[text.index("::: keypoints") :]).encode()


def rename(root: Path, name: str) -> None:
    (root / PAGE).rename(root / "episodes" / name)
    config("01-count.md", name)(root)


def other_notes(root: Path) -> None:
    write("instructors/other.md", b"---\ntitle: Other\n---\n\nText.\n")(root)
    config("- instructor-notes.md", "- other.md")(root)


def names(root: Path) -> set[str]:
    return {finding.rule for finding in lint_lesson(Lesson(root))}


@pytest.mark.parametrize(("rule", "change"), BROKEN, ids=[f"{rule}" for rule, _ in BROKEN])
def test_what_breaks_a_rule_is_found_and_nothing_else(clean_lesson, rule, change):
    change(clean_lesson)
    assert names(clean_lesson) == {rule}


def test_every_rule_has_a_case_and_a_docstring():
    assert {rule for rule, _ in BROKEN} == set(all_rules())
    assert all(rule.__doc__ for rule in all_rules().values())


def test_the_clean_lesson_has_no_errors(clean_lesson):
    assert lint_lesson(Lesson(clean_lesson)) == []


HARMLESS = """\
:::::::: {.callout #box k="v"}

### Just ask: `simply` {#42-x}

`::: no fence` and `[a](b)` are code.

```markdown
::: no-such-class
# No heading
[a](http://b)
```

::::::

1. Item

   ```bash
   ls
   ```

   - [set-up page][s], [box](#box), [forty-two](#42-x), <https://example.org>
   - It's <!-- [a](http://b) simply -->

[s]: ../learners/setup.md "Set-up"

    simply = "indented code"

::: {.discussion}

::: instructor

Ask around.

:::

:::

::: spoiler

![](fig/dots.svg){alt=""}

:::
""".replace("Just ask", "Ask")


def test_what_looks_wrong_and_is_not(clean_lesson):
    insert(HARMLESS)(clean_lesson)
    assert lint_lesson(Lesson(clean_lesson)) == []


@pytest.mark.parametrize("title", ["Objectives", "What you will be able to do"])
def test_the_lessons_objectives_may_have_a_heading(clean_lesson, title):
    swap("::: objectives\n\n", f"## {title}\n\nAfter it:\n\n", "index.md")(clean_lesson)
    swap("\n:::\n", "", "index.md")(clean_lesson)
    assert lint_lesson(Lesson(clean_lesson)) == []


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
    swap("teaching: 15", "teaching: 16")(clean_lesson)
    assert "exercise-gap" in names(clean_lesson)
    swap(END, f"{'word ' * 60}\n\n{END}")(clean_lesson)
    assert "exercise-gap" not in names(clean_lesson)
    swap("word " * 60, f"::: {kind}\n\n{'word ' * 60}\n\n:::")(clean_lesson)
    assert "exercise-gap" in names(clean_lesson)


def test_other_spellings_of_python_are_told_to_be_python(clean_lesson):
    insert("```py\nx = 1\n```")(clean_lesson)
    (finding,) = lint_lesson(Lesson(clean_lesson))
    assert "write `python`" in finding.message


def test_the_repositorys_own_pages_are_not_the_lessons(clean_lesson):
    for name in ("README.md", "CHANGELOG.md"):
        write(name, b"# Simply\n")(clean_lesson)
    assert lint_lesson(Lesson(clean_lesson)) == []


def test_a_finding_names_the_line_and_the_mend(clean_lesson):
    insert("One.\n\n[Text](http://example.org)")(clean_lesson)
    (finding,) = lint_lesson(Lesson(clean_lesson))
    text = (clean_lesson / PAGE).read_text().split("\n")
    assert "http://example.org" in text[finding.line - 1]
    assert str(finding) == (
        f"{PAGE}:{finding.line}: http://example.org is not encrypted; write https:// [link-https]"
    )


def test_the_command(clean_lesson, capsys):
    assert main([str(clean_lesson)]) == 0
    assert capsys.readouterr().out == "9 pages, no errors\n"
    assert main([str(clean_lesson / PAGE)]) == 0
    assert capsys.readouterr().out == "1 page, no errors\n"
    swap("## Tools", "# Tools", "learners/setup.md")(clean_lesson)
    assert main([str(clean_lesson / "learners")]) == 1
    assert capsys.readouterr().out.startswith("learners/setup.md:5: the heading “Tools” is level 1")
    assert main([str(clean_lesson / "missing.md")]) == 2
    assert "check its name" in capsys.readouterr().err
    assert main([str(clean_lesson / "episodes/fig")]) == 2
    assert "holds no pages" in capsys.readouterr().err
    assert main(["--rules"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(all_rules())


def test_an_empty_folder_is_no_traceback(tmp_path):
    write("config.yaml", b"- a list")(tmp_path)
    assert names(tmp_path) == {"root-file", "lesson-page", "config-readable", "gitignore"}


def test_unreadable_files_are_no_traceback(clean_lesson):
    for name in ("links.md", "config.yaml", "index.md", "learners/reference.md", ".gitignore"):
        (clean_lesson / name).write_bytes(b"\xff\xfe\n")
    assert {"readable", "config-readable", "gitignore"} <= names(clean_lesson)


SLOW_FIXTURE = [HealthCheck.function_scoped_fixture]


@settings(max_examples=100, suppress_health_check=SLOW_FIXTURE)
@given(st.lists(st.sampled_from([*"#:`~-|[](){}<>! \n\"'.", ":::", "\n\n", "## ", "hint", "a"])))
def test_any_page_can_be_checked(clean_lesson, parts):
    text = "".join(parts)
    for content in (text, f"---\ntitle: {text}\n---\n\n{text}"):
        page = clean_lesson / PAGE
        page.write_text(content)
        for finding in lint_page(Lesson(clean_lesson), page):
            assert 1 <= finding.line <= content.count("\n") + 1


def test_this_lesson_has_no_errors():
    assert list((ROOT / "episodes").glob("*.md"))
    assert [str(finding) for finding in lint_lesson(Lesson(ROOT))] == []
