"""Episodes become notebooks: every live block once, nothing leaks, nothing changes by itself."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from testing.examples import with_examples
from tests.lesson.contrast import contrast
from tests.tools.made_notebooks import PAGE, code, markdown, notebook, with_body
from tools.lab import alone
from tools.notebooks import __main__ as notebooks
from tools.notebooks import boxes
from tools.notebooks.cells import OPENING
from tools.pages.folder import ROOT, Lesson, PageError
from tools.pages.scanner import FOLDED, Code, Div, scan


def boxed(kind: str, text: str) -> str:
    """Markdown in the box of a div of this kind."""
    colour = ", ".join(map(str, boxes.EDGES[kind]))
    style = (
        f"border-left: 5px solid rgb({colour}); background-color: rgba({colour}, 0.1); "
        "padding: 10px 16px 2px; margin: 6px 0"
    )
    return f'<div style="{style}">\n\n{text}\n\n</div>'


def live_code(page: Path, hidden: frozenset[str]) -> list[str]:
    """The live blocks of a page, straight from the scanner; learners get lines for help as well."""
    code = []
    for block, around in scan(page.read_text(encoding="utf-8")).walk():
        classes = {name for div in around for name in div.classes}
        if isinstance(block, Code) and block.live and not classes & (hidden | FOLDED):
            text = block.text.strip("\n")
            if hidden and (asked := re.search(r"^exercises\.(\w+)\.check\(", text, re.MULTILINE)):
                name = f"# exercises.{asked[1]}."
                text += f"\n\n{name}hint()\n{name}solution()"
            code.append(text)
    return code


# --- which block becomes what ---


def test_the_notebook_opens_with_a_title_and_the_opening_cell(clean_lesson):
    first, second, *_ = notebook(clean_lesson).cells
    assert first.source.startswith("# Count things\n\n*Teaching 15 min, exercises 5 min*")
    assert "make notebooks" in first.source and PAGE in first.source
    assert second.source == alone.cell("https://github.com/example/count-things") + OPENING
    assert second.metadata.tags == ["nbval-ignore-output"]


def test_a_notebook_on_github_is_opened_in_colab_and_kaggle_by_a_link(clean_lesson):
    first, *_ = notebook(clean_lesson, instructor=True).cells
    there = "example/count-things/blob/main/notebooks/instructor/01-count.ipynb"
    assert f"[Google Colab](https://colab.research.google.com/github/{there})" in first.source
    assert f"welcome?src=https://github.com/{there})" in first.source
    assert alone.elsewhere("https://example.org/count-things", "main", "a.ipynb") == {}


def test_without_a_url_the_first_cell_says_so_in_colab(monkeypatch, tmp_path):
    cell = TransformerManager().transform_cell(alone.cell("https://example.org/count-things"))
    exec(cell, {})  # on any other machine it does nothing
    monkeypatch.setenv("COLAB_RELEASE_TAG", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SystemExit, match="Nobody has set this lesson's URL: instructors/places"):
        exec(cell, {})


def test_expected_output_is_the_cells_output_and_is_not_repeated(clean_lesson):
    body = '```python\nprint("a")\n```\n\n```output\na\n```\n\n```python\nx = 1\n```\n\n'
    body += "```python\ny = 1\n```\n\n```output\n```"
    shown, run, silent = code(clean_lesson, body)
    assert [(o.name, o.text) for o in shown.outputs] == [("stdout", "a\n")]
    assert shown.execution_count == 2  # nbval compares only cells that count as run
    assert "tags" not in shown.metadata
    assert (run.outputs, run.execution_count) == ([], None)
    assert run.metadata.tags == ["nbval-ignore-output"]
    assert silent.outputs == [] and "tags" not in silent.metadata  # it has to print nothing
    assert markdown(clean_lesson, body) == ""


def test_what_a_run_has_shown_is_an_output_that_no_run_is_compared_with(clean_lesson):
    (clean_lesson / "episodes/fig").mkdir(exist_ok=True)
    (clean_lesson / "episodes/fig/shown-curve.png").write_bytes(b"\x89PNG")
    body = (
        "```python\ntable\n```\n\n```{.output .shown}\nseconds 1.2\n```\n\n"
        "```python\ncurve()\n```\n\n"
        '![A curve](fig/shown-curve.png){alt="It falls."}\n\nText behind it.'
    )
    table, curve = code(clean_lesson, body)
    assert table.outputs[0].text == "seconds 1.2\n"
    assert curve.outputs[0].data["text/plain"] == "It falls."
    assert curve.outputs[0].metadata["image/png"] == {"alt": "It falls."}
    assert all("nbval-ignore-output" in cell.metadata.tags for cell in (table, curve))
    assert markdown(clean_lesson, body) == "Text behind it."
    (clean_lesson / "episodes/fig/shown-curve.png").unlink()
    with pytest.raises(PageError, match=r"shown-curve\.png .*python -m tools\.pictures\.shown"):
        notebooks.build(clean_lesson)


def test_learners_have_the_hint_and_the_solution_at_hand(clean_lesson):
    body = "::: challenge\n\n### E\n\n```python\nx = None\n\nexercises.two.check(x)\n```\n\n"
    body += "::: solution\n\n```python\nexercises.two.check(2)\n```\n\n:::\n\n:::"
    asked = "x = None\n\nexercises.two.check(x)"
    (cell,) = code(clean_lesson, body)
    assert cell.source == f"{asked}\n\n# exercises.two.hint()\n# exercises.two.solution()"
    for_instructors = [cell.source for cell in code(clean_lesson, body, instructor=True)]
    assert for_instructors == [asked, "exercises.two.check(2)"]


def test_a_long_output_scrolls(clean_lesson):
    long, short = code(clean_lesson, "```{.python .scrolled}\nx\n```\n\n```python\ny\n```")
    assert (long.source, long.metadata.scrolled) == ("x", True)
    assert "scrolled" not in short.metadata


def test_only_live_python_is_code(clean_lesson):
    body = (
        "```yaml\na:\n    b: 1\n```\n\nText.\n\n    indented = 1\n\n"
        "```{.python .display}\nx\n```\n\n"
        "- item\n\n    ```yaml\n    deep:\n        er: 1\n    ```\n\n```\nplain\n```"
    )
    assert code(clean_lesson, body) == []
    text = markdown(clean_lesson, body)
    assert "```yaml\na:\n    b: 1\n```" in text
    assert "```python\nx\n```" in text
    assert "    ```yaml\n    deep:\n        er: 1\n    ```" in text
    assert "    indented = 1" in text


def test_a_live_block_in_a_list_item_and_the_rest_of_the_item(clean_lesson):
    body = (
        "1. One\n\n    ```python\n    if x:\n        y\n    ```\n\n    Rest.\n\n2. Two\n    - deep"
    )
    assert [cell.source for cell in code(clean_lesson, body)] == ["if x:\n    y"]
    assert markdown(clean_lesson, body) == "1. One\n====\nRest.\n\n2. Two\n    - deep"


def test_divs_are_readable(clean_lesson):
    body = """\
::: callout

### Why

Because.

```text
code
```

:::

::: challenge

### Exercise: do it (1 minutes)

```python
x = 1
```

::: hint

Try `2`.

:::

:::

::: keypoints

- One

:::"""
    assert markdown(clean_lesson, body).split("\n====\n") == [
        boxed("callout", "**Note**\n\n### Why\n\nBecause.\n\n```text\ncode\n```"),
        boxed("challenge", "### Exercise: do it (1 minutes)"),
        boxed("challenge", "<details><summary>Hint</summary>\n\nTry `2`.\n\n</details>"),
        boxed("keypoints", "**Key points**\n\n- One"),
    ]


def test_a_box_in_a_box_and_two_neighbours_in_one(clean_lesson):
    note = "::: callout\n\n{}\n\n:::\n\n"
    body = f"::: challenge\n\nA\n\n{note.format('B')}{note.format('C')}D\n\n:::"
    inside = boxed("callout", "**Note**\n\nB"), boxed("callout", "**Note**\n\nC")
    text = "\n\n".join(["**Exercise**", "A", *inside, "D"])
    assert markdown(clean_lesson, body) == boxed("challenge", text)


WHITE = (255, 255, 255)
DARK = (17, 17, 17)  # JupyterLab's dark theme


@pytest.mark.parametrize("ground", [WHITE, DARK])
@pytest.mark.parametrize("kind", boxes.EDGES)
def test_a_box_can_be_seen_and_its_text_read_in_both_themes(kind, ground):
    edge = boxes.EDGES[kind]
    share = boxes.TINT
    fill = tuple(share * top + (1 - share) * below for top, below in zip(edge, ground, strict=True))
    text = (33, 33, 33) if ground == WHITE else WHITE
    assert contrast(edge, ground) >= 3
    assert contrast(text, fill) >= 7


def test_text_after_a_comment_is_shown_and_the_comment_is_not(clean_lesson):
    body = "<!-- todo --> Important.\nMore\n<!-- ` no\n\nno --> `text`."
    assert markdown(clean_lesson, body) == "Important.\nMore\n`text`."


def test_headings_start_cells_and_lose_their_attributes(clean_lesson):
    body = (
        "## A {#x .y}\n\nText [there](#x) and [here](#b-c).\n\n## B C\n\n## D {#z}\n\n<!-- No -->"
    )
    assert markdown(clean_lesson, body).split("\n====\n") == [
        "## A\n\nText [there](#cell-id=x) and [here](#cell-id=b-c).",
        "## B C",
        "## D",
    ]
    ids = [cell.id for cell in notebook(clean_lesson).cells[2:]]
    assert ids[:2] == ["x", "b-c"] and re.fullmatch("[0-9a-f]{12}", ids[2])


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", ""),
        ("::: callout\n\n:::", boxed("callout", "**Note**")),
        ("::: challenge\n\n<!-- To come. -->\n\n:::", boxed("challenge", "**Exercise**")),
        ("::: hint\n\n:::", "<details><summary>Hint</summary>\n\n\n\n</details>"),
    ],
)
def test_an_empty_page_and_empty_divs(clean_lesson, body, text):
    assert markdown(clean_lesson, body) == text


PIECES = st.sampled_from(
    [
        "::: challenge",
        "::: hint",
        "::: solution",
        "::: {.tab #x}",
        "::: other",
        ":::",
        "## A",
        "```python",
        "```output",
        "```",
        "x = 1",
        "<!-- a -->",
        "<!--",
        "-->",
        "- b",
        "    c",
        "[d](#x)",
        "[e](f.md)",
        "![g](h%00){alt=i}",
        "[j]: k",
        "`",
        "1. l",
        "> m",
        "\t",
        "====",
    ]
)


@with_examples(200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(PIECES | st.text(max_size=3), st.sampled_from([" ", "\n", "\n\n"]))))
def test_any_page_becomes_notebooks_or_is_refused(clean_lesson, parts):
    with_body(clean_lesson, "".join(piece + gap for piece, gap in parts))
    try:
        made = notebooks.build(clean_lesson)
    except PageError:
        return
    assert len(made) == 2


# --- nothing leaks ---


LEAKY = """\
::: challenge

### Exercise: ask (1 minutes)

::: callout

Asked.

::: solution

### LEAK heading

LEAK text <https://example.org/LEAK>

```python
LEAK = 1
```

```output
LEAK
```

::: callout

LEAK nested

:::

:::

:::

::: hint

Hinted.

::: {.instructor .callout}

LEAK in a hint

:::

:::

<!-- LEAK comment -->

Asked <!-- LEAK inline --> again and `<!-- kept -->`.

:::

::: instructor

LEAK instructor

```python
LEAK = 2
```

:::
"""


def test_learners_see_no_solution_and_no_instructor_text(clean_lesson):
    with_body(clean_lesson, LEAKY)
    notebook(clean_lesson)
    text = (clean_lesson / "notebooks/01-count.ipynb").read_text()
    assert "LEAK" not in text
    assert text.count("Asked") == 2 and "Hinted" in text and "`<!-- kept -->`" in text


def test_instructors_see_both_with_live_code(clean_lesson):
    cells = code(clean_lesson, LEAKY, instructor=True)
    assert [cell.source for cell in cells] == ["LEAK = 1", "LEAK = 2"]
    text = markdown(clean_lesson, LEAKY, instructor=True)
    for part in ("LEAK heading", "LEAK text", "LEAK nested", "LEAK in a hint", "LEAK instructor"):
        assert text.count(part) == 1
    assert "comment" not in text


# --- every live block once, and it compiles ---


@pytest.mark.parametrize("instructor", [False, True])
def test_every_live_block_is_one_code_cell_in_order(clean_lesson, instructor):
    body = (
        "```python\n%run x.py --a {b}\n!ls\nfiles = !ls\n```\n\n```python\n%%time\nx = 1\n```\n\n"
    )
    page = clean_lesson / PAGE
    page.write_text(page.read_text() + "\n" + body)
    assert_round_trip(clean_lesson, notebooks.build(clean_lesson), page, instructor)


def assert_round_trip(root: Path, made: dict[Path, str], page: Path, instructor: bool) -> None:
    hidden = frozenset() if instructor else frozenset({"solution", "instructor"})
    folder = root.resolve() / "notebooks" / ("instructor" if instructor else "")
    cells = json.loads(made[folder / f"{page.stem}.ipynb"])["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    source = (Lesson(root).config() or {})["source"]
    assert sources == [alone.cell(source) + OPENING, *live_code(page, hidden)]
    for source in sources:
        compile(TransformerManager().transform_cell(source), page.name, "exec")


def test_the_lessons_own_episodes_make_the_round_trip_and_are_up_to_date():
    made = notebooks.build(ROOT)
    for page in sorted((ROOT / "episodes").glob("*.md")):
        assert_round_trip(ROOT, made, page, False)
        assert_round_trip(ROOT, made, page, True)
    assert notebooks.check(ROOT) == []


# --- the files ---


def test_writing_again_changes_nothing(clean_lesson):
    assert notebooks.write(clean_lesson) == "2 files written, 0 unchanged, 0 removed"
    path = clean_lesson / "notebooks/01-count.ipynb"
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert notebooks.write(clean_lesson) == "0 files written, 2 unchanged, 0 removed"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert before[0].endswith(b"}\n")
    assert not list(clean_lesson.glob("notebooks/**/*.part"))


def test_text_is_kept_as_written(clean_lesson):
    with_body(clean_lesson, "Größe → 5 µm")
    notebooks.write(clean_lesson)
    assert "Größe → 5 µm".encode() in (clean_lesson / "notebooks/01-count.ipynb").read_bytes()


def test_changing_one_cell_changes_one_id(clean_lesson):
    before = [cell.id for cell in notebook(clean_lesson, instructor=True).cells]
    page = clean_lesson / PAGE
    page.write_text(page.read_text().replace("number = 3\n```", "number = 33\n```"))
    after = [cell.id for cell in notebook(clean_lesson, instructor=True).cells]
    assert len(set(before)) == len(before)
    assert [old == new for old, new in zip(before, after, strict=True)].count(False) == 1


def test_repeated_cells_have_ids_of_their_own(clean_lesson):
    cell = "```python\nx\n```\n\n"
    cells = code(clean_lesson, f"{cell}{cell}```output\n1\n```\n\n{cell}")
    assert len({cell.id for cell in cells}) == 3


def test_leftovers_are_removed_but_never_a_readers_own_notebook(clean_lesson):
    notebooks.write(clean_lesson)
    (clean_lesson / PAGE).rename(clean_lesson / "episodes/02-new.md")
    own = clean_lesson / "notebooks/mine.ipynb"
    own.write_text('{"cells": [], "metadata": {}}')
    (clean_lesson / "notebooks/broken.ipynb").write_text("{")
    copy = clean_lesson / "notebooks/01-count-Copy1.ipynb"  # as JupyterLab duplicates one
    copy.write_bytes((clean_lesson / "notebooks/01-count.ipynb").read_bytes())
    assert notebooks.write(clean_lesson) == "2 files written, 0 unchanged, 2 removed"
    left = sorted(path.name for path in (clean_lesson / "notebooks").glob("*.ipynb"))
    assert left == ["01-count-Copy1.ipynb", "02-new.ipynb", "broken.ipynb", "mine.ipynb"]


def test_check_names_each_notebook_and_writes_nothing(clean_lesson, capsys):
    assert notebooks.main(["--check", str(clean_lesson)]) == 1
    assert "notebooks/01-count.ipynb is missing; run `make notebooks`" in capsys.readouterr().out
    assert not (clean_lesson / "notebooks").exists()
    assert notebooks.main([str(clean_lesson)]) == 0
    assert notebooks.main(["--check", str(clean_lesson)]) == 0
    (clean_lesson / "notebooks/01-count.ipynb").write_text("{}")
    page = clean_lesson / PAGE
    old = clean_lesson / "notebooks/00-old.ipynb"
    made = (clean_lesson / "notebooks/instructor/01-count.ipynb").read_text()
    old.write_text(made.replace("episodes/01-count.md", "episodes/00-old.md"))
    page.write_text(page.read_text())
    capsys.readouterr()
    assert notebooks.main(["--check", str(clean_lesson)]) == 1
    stale, left_over = capsys.readouterr().out.splitlines()
    assert stale.startswith("notebooks/01-count.ipynb differs from its page; run `make")
    assert left_over.startswith("notebooks/00-old.ipynb has no page any more; run `make")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            b"---\ntitle: T\n---\n\n::: solution\n\nA\n",
            "01-count.md:5: the div `solution` is never",
        ),
        (b"---\ntitle: a: b\n---\n", "01-count.md:2: the front matter is not valid YAML"),
        (b"---\nteaching: 1\n---\n", "01-count.md:1: the front matter has no title"),
        (b"---\ntitle: T\n---\n\n::: solutions\n\nA\n\n:::\n", "01-count.md:5: there is no div"),
        (b"---\ntitle: T\n---\n\n::: Solution\n\nA\n\n:::\n", "`Solution`; use one of"),
        (b"---\ntitle: T\n---\n\n::: {.hint .soluton}\n\nA\n\n:::\n", "`hint soluton`"),
        (b"---\ntitle: T\n---\n\n::: {#a}\n\nA\n\n:::\n", "01-count.md:5: there is no div"),
        (b"\xff\xfe", "01-count.md is not UTF-8"),
        (None, "holds no pages"),
    ],
)
def test_a_broken_page_is_refused_in_one_sentence(clean_lesson, capsys, content, says):
    page = clean_lesson / PAGE
    page.write_bytes(content) if content is not None else page.unlink()
    assert notebooks.main([str(clean_lesson)]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1
    assert not (clean_lesson / "notebooks").exists()


def test_shared_links_that_cannot_be_read_are_refused(clean_lesson, capsys):
    (clean_lesson / "links.md").write_bytes(b"\xff\xfe")
    assert notebooks.main([str(clean_lesson)]) == 2
    assert "links.md is not UTF-8" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_no_traceback(clean_lesson, capsys):
    (clean_lesson / "notebooks").write_text("a file in the way")
    assert notebooks.main([str(clean_lesson)]) == 2
    assert capsys.readouterr().err.startswith("cannot write ")


def test_a_failed_write_leaves_no_part_and_the_older_notebook(clean_lesson, capsys, monkeypatch):
    notebooks.write(clean_lesson)
    path = clean_lesson / "notebooks/01-count.ipynb"
    path.write_text("older")
    before = sorted(path.parent.iterdir())

    def refuse(source, target):
        assert Path(source).parent == path.parent
        raise OSError(28, "No space left on device", str(source), None, str(target))

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", refuse)
        assert notebooks.main([str(clean_lesson)]) == 2
    assert capsys.readouterr().err.startswith(f"cannot write {path} (No space left")
    assert sorted(path.parent.iterdir()) == before
    assert path.read_text() == "older"


def test_another_writers_part_is_not_in_the_way(clean_lesson):
    part = clean_lesson / "notebooks/.01-count.ipynb.part"
    part.mkdir(parents=True)
    notebooks.write(clean_lesson)
    assert (clean_lesson / "notebooks/01-count.ipynb").is_file()
    assert (clean_lesson / "notebooks/01-count.ipynb").stat().st_mode & 0o777 == (
        (clean_lesson / PAGE).stat().st_mode & 0o777
    )


def test_divs_in_the_fixture_are_all_closed():
    assert all(div.end for div, _ in scan(LEAKY).walk() if isinstance(div, Div))
