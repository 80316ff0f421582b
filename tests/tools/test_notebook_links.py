"""Links, and the cells that they lead to, in notebooks and in the pages for learners."""

import pytest

from tests.tools.made_notebooks import markdown, notebook, with_body
from tests.tools.test_notebooks import boxed
from tools.notebooks.pages import write_pages


@pytest.mark.parametrize(
    ("source", "learner", "instructor"),
    [
        ("[a](02-b.md#x)", "[a](02-b.ipynb#cell-id=x)", "[a](02-b.ipynb#cell-id=x)"),
        ("[a](02-b.html)", "[a](02-b.ipynb)", "[a](02-b.ipynb)"),
        ("[a](setup.html#t)", "[a](../learners/setup.md#t)", "[a](../../learners/setup.md#t)"),
        ("[a](../index.md)", "[a](../index.md)", "[a](../../index.md)"),
        ("[a](https://b.c/d.md)", "[a](https://b.c/d.md)", "[a](https://b.c/d.md)"),
        ("[a][python]", "[a](https://www.python.org)", "[a](https://www.python.org)"),
        ("[a][f]\n\n[f]: 02-b.md", "[a](02-b.ipynb)", "[a](02-b.ipynb)"),
        (
            '![c [d]](fig/dots.svg){alt="e [f]" width="50%"}',
            "![e \\[f\\]](../episodes/fig/dots.svg)<br>*c [d]*",
            "![e \\[f\\]](../../episodes/fig/dots.svg)<br>*c [d]*",
        ),
        (
            '[![](fig/dots.svg){alt="e"}](02-b.md)',
            "[![e](../episodes/fig/dots.svg)](02-b.ipynb)",
            "[![e](../../episodes/fig/dots.svg)](02-b.ipynb)",
        ),
        (
            '<img src="fig/dots.svg" alt="">',
            '<img src="../episodes/fig/dots.svg" alt="">',
            '<img src="../../episodes/fig/dots.svg" alt="">',
        ),
        ("`[a](02-b.md)`", "`[a](02-b.md)`", "`[a](02-b.md)`"),
    ],
)
def test_links_work_from_both_folders(clean_lesson, source, learner, instructor):
    (clean_lesson / "episodes/02-b.md").write_text("---\ntitle: B\n---\n\n## X\n")
    assert markdown(clean_lesson, source) == learner
    assert markdown(clean_lesson, source, instructor=True) == instructor


def test_a_repeated_heading_is_found_by_its_number_though_the_first_is_hidden(clean_lesson):
    body = "::: challenge\n\n## A\n\n::: solution\n\n### B\n\n:::\n\n:::\n\n## B\n\n[b](#b-1)"
    assert markdown(clean_lesson, body).endswith("## B\n\n[b](#cell-id=b-1)")
    assert notebook(clean_lesson).cells[-1].id == "b-1"


def test_a_section_that_a_link_leads_to_begins_a_cell_of_its_name(clean_lesson):
    (clean_lesson / "episodes/02-b.md").write_text("---\ntitle: B\n---\n\n[a](01-count.md#x)\n")
    body = "::: challenge\n\n### E\n\nText.\n\n### In the box {#x}\n\n:::"
    assert markdown(clean_lesson, body).split("\n====\n") == [
        boxed("challenge", "**Exercise**\n\n### E\n\nText."),
        boxed("challenge", "### In the box"),
    ]
    assert notebook(clean_lesson).cells[-1].id == "x"


def test_two_boxes_of_one_name_have_cells_of_two_names(clean_lesson):
    markdown(clean_lesson, "::: {.callout #x}\n\n:::\n\n::: {.callout #x}\n\n:::\n\n[x](#x)")
    first, second, _ = (cell.id for cell in notebook(clean_lesson).cells[2:])
    assert first == "x" != second


def test_learners_pages_are_written_for_jupyterlab(clean_lesson):
    """Links from notebooks land in them: each heading has an anchor."""
    with_body(clean_lesson, "## A {#a}\n\n[install](setup.md#python) and [a word](reference.md#n)")
    (clean_lesson / "learners/setup.md").write_text(
        "---\ntitle: Set-up\n---\n\n## One\n\n### Python {#python}\n\n```python\nlive = 1\n```\n\n"
        "::: callout\n\n[A](01-count.md#a), [words](reference.md), "
        "![d](fig/dots.svg){alt='D'}\n\n:::\n"
    )
    (clean_lesson / "learners/reference.md").write_text(
        "---\ntitle: Words\n---\n\n[Number]{#n}\n:   A count\n    of *things*.\n\nSum\n:   More.\n"
    )
    write_pages(clean_lesson)
    notice = "<!-- Written by `make lab` from learners/{}.md: change that page, not this file. -->"
    note = (
        "[A](../01-count.ipynb#cell-id=a), [words](reference.md), ![D](../../episodes/fig/dots.svg)"
    )
    pages = clean_lesson / "work/pages"
    assert (pages / "setup.md").read_text() == "\n\n".join(
        [
            notice.format("setup"),
            '# Set-up\n\n<a id="one"></a>\n\n## One',
            '<a id="python"></a>\n\n### Python\n\n```python\nlive = 1\n```',
            boxed("callout", f"**Note**\n\n{note}<br>*d*") + "\n",
        ]
    )
    assert (
        (pages / "reference.md")
        .read_text()
        .endswith('\n\n**<a id="n"></a>Number**<br>A count\nof *things*.\n\n**Sum**<br>More.\n')
    )
