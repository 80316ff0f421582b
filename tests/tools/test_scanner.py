"""The scanner reads pages as pandoc does, and never fails."""

from textwrap import dedent

from hypothesis import example, given
from hypothesis import strategies as st

from testing.examples import with_examples
from tools.pages.scanner import Code, Div, Heading, Page, Prose, scan

FRONT = "---\ntitle: A page\n---\n\n"


def read(text: str) -> Page:
    return scan(FRONT + dedent(text))


def shape(page: Page) -> list[str]:
    """The tree as indented words."""
    names = []
    for block, around in page.walk():
        match block:
            case Div():
                name = "div " + " ".join(block.classes)
            case Heading():
                name = "#" * block.level + " " + block.text
            case Code():
                name = f"code {block.language}"
            case Prose():
                name = block.text
        names.append("  " * len(around) + name)
    return names


def test_front_matter_is_parsed_and_lines_count_from_the_top():
    page = scan("---\ntitle: 'T: x'\nteaching: 5\n---\n\n## One\n\nText.\n")
    assert page.front_matter == {"title": "T: x", "teaching": 5}
    assert [(type(block), block.line) for block in page.blocks] == [(Heading, 6), (Prose, 8)]
    assert page.problems == []


def test_the_length_of_a_fence_does_not_pair_divs():
    page = read("""\
        ::: challenge

        ::::::::::::: solution

        Inner.

        :::

        Outer.

        :::::::::::::::::::::::::
    """)
    assert shape(page) == ["div challenge", "  div solution", "    Inner.", "  Outer."]
    assert page.problems == []


def test_same_length_nesting_is_legal():
    page = read("::: challenge\n\n::: hint\n\nA\n\n:::\n\n:::\n\nAfter.\n")
    assert shape(page) == ["div challenge", "  div hint", "    A", "After."]


def test_both_ways_to_open_a_div():
    page = read('::: {.callout #box k="v w"}\n\nA\n\n:::\n\n:::callout :::\n\nB\n\n:::\n')
    first, second = page.blocks
    assert isinstance(first, Div) and isinstance(second, Div)
    assert (first.attributes.id, first.attributes.pairs) == ("box", {"k": "v w"})
    assert first.classes == second.classes == ("callout",)
    assert (first.line, first.end) == (5, 9)


def test_a_fence_stands_at_the_start_of_its_line_or_of_its_list_item():
    page = read("- a\n\n  - b\n\n    ::: hint\n\n    C\n\n    :::\n\n  ::: hint\n\n  D\n\n  :::\n")
    assert shape(page) == ["- a\n\n  - b", "div hint", "      C", "div hint", "    D"]
    assert page.problems == []
    for indent in (" ", "  ", "   "):
        page = read(f"Text.\n\n{indent}::: hint\n\nA\n\n:::\n")
        assert [(problem.line, problem.kind) for problem in page.problems] == [(7, "div-fence")]


def test_colons_in_code_and_comments_are_no_fences():
    page = read("```markdown\n::: callout\n```\n\n<!--\n::: callout\n## No\n-->\n\nText.\n")
    assert shape(page) == ["code markdown", "Text."]
    assert page.problems == []


def test_text_after_a_comment_is_prose():
    page = read("A\n<!-- b --> c.\n\n<!-- d\n\n## D --> e.\n\n<!-- f --> <!-- g\n## G\n-->\n\nH.\n")
    assert shape(page) == ["A\n<!-- b --> c.\n\n<!-- d\n\n## D --> e.", "H."]
    assert [block.line for block in page.blocks] == [5, 16]
    assert page.problems == []


def test_code_fences_of_both_kinds_longer_ones_and_inside_lists():
    page = read("""\
        ````markdown
        ```python
        inner
        ```
        ````

        ~~~yaml
        a: 1
        ~~~

        1. Step

           ```python
           if x:
               y
           ```

           More of the step.
    """)
    assert shape(page) == [
        "code markdown",
        "code yaml",
        "1. Step",
        "code python",
        "   More of the step.",
    ]
    assert page.blocks[3].text == "if x:\n    y"
    assert page.blocks[0].text == "```python\ninner\n```"


def test_a_second_paragraph_on_a_term_is_no_code():
    page = read("""\
        Term
        :   What it means.

            And one thing more.

        Other
        :   Another.

            ```python
            1
            ```
    """)
    assert [type(block) for block in page.blocks] == [Prose, Code]
    assert page.blocks[1].text == "1"


def test_indented_code_is_no_fence_and_no_heading():
    page = read("Text.\n\n    ```python\n    # no heading\n    ::: no div\n\nAfter.\n")
    assert shape(page) == ["Text.", "code ", "After."]
    assert page.blocks[1].text.startswith("```python\n#")


def test_live_code_is_python_that_is_not_for_display():
    page = read(
        "```python\n1\n```\n\n```{.python}\n1\n```\n\n```{.python .display}\n1\n```\n\n"
        "```python {.display}\n1\n```\n\n```yaml\na: 1\n```\n\n```\nplain\n```\n\n"
        "```{python}\n1\n```\n"
    )
    codes = [block for block in page.blocks if isinstance(block, Code)]
    assert [code.live for code in codes] == [True, True, False, False, False, False, False]
    assert [code.language for code in codes] == [*["python"] * 4, "yaml", "", None]


def test_headings():
    page = read(
        "## Two {#two .x}\n\n### C# and F#\n\n#\n\n#no\n\nUnder\n-----\n\n## Set {a, b} ##\n"
    )
    headings = [block for block in page.blocks if isinstance(block, Heading)]
    assert [(h.level, h.text) for h in headings] == [
        (2, "Two"),
        (3, "C# and F#"),
        (1, ""),
        (2, "Under"),
        (2, "Set {a, b}"),
    ]
    assert headings[0].attributes.id == "two"


def problems(text: str) -> list[tuple[int, str]]:
    return [(problem.line, problem.kind) for problem in scan(text).problems]


def test_what_is_wrong_is_recorded_with_its_line():
    assert problems(FRONT + "::: callout\n\nA\n") == [(5, "div-balance")]
    assert problems(FRONT + "A\n\n:::\n") == [(7, "div-balance")]
    assert problems(FRONT + "```python\nA\n") == [(5, "code")]
    assert problems(FRONT + "<!-- A\n") == [(5, "comment")]
    assert problems(FRONT + "::: two words\n") == [(5, "div-fence")]
    assert problems(FRONT + "::: hint\n\nA\n\n" + ":" * 80 + "\n") == []
    assert problems(FRONT + "::: hint\n\nA\n\n" + ":" * 81 + "\n") == [(9, "div-fence")]


def test_broken_front_matter_is_recorded():
    assert problems("Text\n") == [(1, "front-matter")]
    assert problems("---\ntitle: A\n") == [(1, "front-matter")]
    assert problems("---\n\ntitle: A\n---\n") == [(2, "front-matter")]
    assert problems("---\ntitle: A\nx: a: b\n---\n") == [(3, "front-matter")]
    assert problems("---\n- a\n---\n") == [(1, "front-matter")]
    assert problems("---\na: 2024-99-99\n---\n") == [(1, "front-matter")]
    assert problems('---\na: !!int ""\n---\n') == [(1, "front-matter")]


FENCES = ["---", ":::", "::: callout", "::: {.hint #a", "```", "````python", "~~~", "<!--", "-->"]
OTHERS = [
    "## A {#b}",
    "- x",
    "    ",
    "\t",
    "===",
    "a: [",
    "!!int",
    "[a](b",
    "![",
    "`",
    "\x0c",
    "\u2028",
]
PIECES = st.sampled_from([*FENCES, *OTHERS, "\n", "\n\n"])


@with_examples(300)
@given(st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=5))).map("".join)))
@example('"\u2028\u2028\u2028')  # a line's end in YAML, not in Markdown
def test_reading_never_fails(text):
    for page in (scan(text), scan(FRONT + text), scan("---\n" + text + "\n---\n")):
        lines = [block.line for block, _ in page.walk()]
        assert lines == sorted(lines)
        assert all(1 <= line <= len(page.lines) for line in lines)
        assert all(1 <= problem.line <= len(page.lines) for problem in page.problems)
