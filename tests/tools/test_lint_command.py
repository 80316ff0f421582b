"""The command `python -m tools.lint`, and what it does with folders and pages of any kind."""

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from testing.examples import with_examples
from tests.tools.changes import PAGE, insert, swap, write
from tools.lint import Lesson, all_rules, lint_lesson, lint_page
from tools.lint.__main__ import main


def names(root):
    return {finding.rule for finding in lint_lesson(Lesson(root))}


def test_the_repositorys_own_pages_are_not_the_lessons(clean_lesson):
    for name in ("README.md", "CHANGELOG.md"):
        write(name, b"# Simply\n")(clean_lesson)
    assert lint_lesson(Lesson(clean_lesson)) == []


def test_the_local_clouds_documentation_keeps_the_rules_on_links_tables_and_words(clean_lesson):
    links = "[Set-up](setup.md), [lesson](../../learners/setup.md), [Python][python]"
    text = f"# Use\n\n{links}.\n\nSimply.\n"
    write("local-cloud/docs/use.md", text.encode())(clean_lesson)
    write("local-cloud/README.md", b"# Local cloud\n\n[How to use it](docs/use.md#use)\n")(
        clean_lesson
    )
    found = {(each.path, each.rule) for each in lint_lesson(Lesson(clean_lesson))}
    rules = ("link-file", "link-undefined", "word-belittling")
    assert found == {("local-cloud/docs/use.md", rule) for rule in rules}


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


def test_the_minutes_of_all_episodes(clean_lesson, capsys):
    assert main(["--pace", str(clean_lesson)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[2:] == [
        "| 01 Count things | 15 | 58 | 5 | 20 | 63 | 0 |",
        "| all | 15 | 58 | 5 | 20 | 63 | 0 |",
    ]
    insert("## Optional: More\n\n" + "word " * 600)(clean_lesson)
    assert main(["--pace", str(clean_lesson)]) == 0
    assert "| 01 Count things | 15 | 58 | 5 | 20 | 63 | 3 |" in capsys.readouterr().out


def test_an_empty_folder_is_no_traceback(tmp_path):
    write("config.yaml", b"- a list")(tmp_path)
    assert names(tmp_path) == {"root-file", "lesson-page", "config-readable", "gitignore"}


def test_unreadable_files_are_no_traceback(clean_lesson):
    for name in ("links.md", "config.yaml", "index.md", "learners/reference.md", ".gitignore"):
        (clean_lesson / name).write_bytes(b"\xff\xfe\n")
    assert {"readable", "config-readable", "gitignore"} <= names(clean_lesson)


SLOW_FIXTURE = [HealthCheck.function_scoped_fixture]


@with_examples(100, suppress_health_check=SLOW_FIXTURE)
@given(st.lists(st.sampled_from([*"#:`~-|[](){}<>! \n\"'.", ":::", "\n\n", "## ", "hint", "a"])))
def test_any_page_can_be_checked(clean_lesson, parts):
    text = "".join(parts)
    for content in (text, f"---\ntitle: {text}\n---\n\n{text}"):
        page = clean_lesson / PAGE
        page.write_text(content)
        for finding in lint_page(Lesson(clean_lesson), page):
            assert 1 <= finding.line <= content.count("\n") + 1
