"""Links and images are found where pandoc finds them; code holds none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testing.examples import with_examples
from tools.pages.links import (
    anchors,
    definitions,
    links,
    page_links,
    pandoc_slug,
    pegboard_slug,
    plain,
    without_comments,
)
from tools.pages.scanner import scan


def found(text: str, **known: str) -> list[tuple[bool, str, str | None]]:
    return [(link.image, link.text, link.target) for link in links(text, known)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a b](c.md#d)", [(False, "a b", "c.md#d")]),
        ('[a](<b c> "title")', [(False, "a", "b c")]),
        ("[a](b_(c))", [(False, "a", "b_(c)")]),
        ("[`code`](b)", [(False, "`code`", "b")]),
        ("`[a](b)` and ``x ` [a](b)``", []),
        ("<!-- [a](b) -->", []),
        ("<!-- ` [a](b) --> [c](d) `e`", [(False, "c", "d")]),
        (
            "[a][name] [name][] [name]",
            [(False, "a", "x"), (False, "name", "x"), (False, "name", "x")],
        ),
        ("[a][other]", [(False, "a", None)]),
        ("[1] [ ] [^note] \\[a](b)", []),
        ("![a](b.png){alt='c'}", [(True, "a", "b.png")]),
        ("[![a](b.png)](c)", [(False, "![a](b.png)", "c"), (True, "a", "b.png")]),
        ("<https://a.b>", [(False, "https://a.b", "https://a.b")]),
        ('<a href="b">t</a> <img src="c" alt="">', [(False, "", "b"), (True, "", "c")]),
    ],
)
def test_links(text, expected):
    assert found(text, name="x") == expected


def test_attributes_of_an_image():
    (image,) = links("![a](b){alt=\"x 'y' }\" width=5%}", {})
    assert image.attributes.pairs == {"alt": "x 'y' }", "width": "5%"}


def test_definitions_and_lines():
    page = scan(
        "---\nt: 1\n---\n\nA\n[b][the  Name] c\n\n```text\n[x]: y\n```\n\n[The name]: <d> 'e'\n"
    )
    assert definitions(page) == {"the name": "d"}
    assert [(line, link.target) for line, link in page_links(page, definitions(page))] == [(6, "d")]


@pytest.mark.parametrize(
    ("heading", "pandoc", "pegboard"),
    [
        ("Train here", "train-here", "train-here"),
        ("1. Look at the data", "look-at-the-data", "1-look-at-the-data"),
        ("What's `train_nn.py`?", "whats-train_nn.py", "what-s-train-nn-py"),
        ("See [the *guide*](x)", "see-the-guide", "see-the-guide"),
        ("42", "section", "42"),
    ],
)
def test_slugs(heading, pandoc, pegboard):
    assert (pandoc_slug(heading), pegboard_slug(heading)) == (pandoc, pegboard)


def test_anchors_that_always_hold_and_those_that_do_not():
    page = scan(
        "## One\n\n## 2 two\n\n## One\n\n## Three {#x}\n\n::: {.hint #h}\n\n[s]{#sp}\n\n:::\n"
    )
    sure, unsure = anchors(page)
    assert sure == {"one", "one-1", "x", "h", "sp"}
    assert unsure == {"two", "2-two"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <!-- b --> c", "a  c"),
        ("- a <!-- b -->\n- c\n  <!-- d -->\n- e\n<!-- f -->", "- a\n- c\n- e\n"),
        ("<!-- a --> b\n  <!-- c -->  <!-- d\n\ne --> f", "b\n  f"),
        ("`<!-- a -->` <!-- b ` c --> d `e`", "`<!-- a -->`  d `e`"),
    ],
)
def test_comments_are_taken_out_and_code_is_kept(text, left):
    assert without_comments(text) == left


def test_plain_keeps_names_with_underscores():
    assert plain("**A** `train_nn.py` and _b_") == "A train_nn.py and b"


@with_examples(200)
@given(st.text(alphabet="[]()!`<>{}#a:\n \"'=-^/"))
def test_any_text_can_be_searched(text):
    for link in links(text, {"a": "b"}):
        assert 0 <= link.start < link.end <= len(text)
    plain(text)
    anchors(scan(text))
