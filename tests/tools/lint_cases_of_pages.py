"""Changes to a page that break, or keep, the rules on headings, links, pictures, boxes and code.

BROKEN and FINE read as the list of rules: the rule's id, then what a page does.
"""

from tests.tools.changes import (
    Change,
    append,
    insert,
    several,
    swap,
    write,
)
from tools.pages.scanner import KNOWN_DIVS

QUESTIONS = "::: questions\n\n- How are things counted?\n\n:::\n"
OBJECTIVES = "::: objectives\n\n- Count three things with Python.\n\n:::\n"
KEYPOINTS = "::: keypoints\n\n- Things are counted one by one.\n\n:::\n"
SOLUTION, NOTE = "::: solution\n", "::: instructor\n"
PICTURE = '![Three dots in a row](fig/dots.svg){alt="Three dots"}'
TABLE = "| a | b |\n|---|---|\n| c | d |"

# rule -> what the page does -> the change that makes it do so
BROKEN: dict[str, dict[str, Change]] = {
    # Headings
    "heading-first": {
        "level 3": swap("## Tools", "### Tools {#tools}", "learners/setup.md"),
    },
    "heading-level-one": {
        "in the middle": insert("# One"),
        "underlined": insert("One\n==="),
        "first of a page": swap("Open an", "# Contribute\n\nOpen an", "CONTRIBUTING.md"),
    },
    "heading-jump": {
        "from 2 to 4": insert("## Two\n\n#### Four"),
        "inside a div": insert("::: callout\n\n##### Five\n\n:::"),
    },
    "heading-empty": {
        "marks only": insert("###"),
        "an id only": insert("### {#name}"),
        "a comment only": insert("### <!-- Name -->"),
    },
    "heading-unique": {
        "siblings": insert("### Same\n\n### Same"),
        "siblings but for capitals": insert("### Same\n\n### same"),
        "siblings but for marks": insert("### Same\n\n### **Same**"),
        "siblings with ids": insert("### Same {#a1}\n\n### Same {#b2}"),
        "in two divs of one section": insert("::: callout\n\n### Why three\n\n:::"),
    },
    "heading-id": {
        "a number without an id": insert("### 1. First"),
        "a number in marks": insert("### **2** or three"),
    },
    # Links and images
    "link-scheme": {
        scheme: insert(f"[Text]({scheme}alert)")
        for scheme in ("javascript:", "JavaScript:", "file:///", "data:text/html,", "vbscript:")
    },
    "link-https": {
        "in a link": insert("[Text](http://example.org)"),
        "in capitals": insert("[Text](HTTP://example.org)"),
        "between brackets": insert("<http://example.org>"),
        "bare": insert("See http://example.org."),
        "behind a label": insert("[Text][name]\n\n[name]: http://example.org"),
        "behind a shared label": several(
            append("[other]: http://example.org\n", "links.md"), insert("[Text][other]")
        ),
        "of an image": insert('![Text](http://example.org/a.svg){alt=""}'),
        "no scheme": insert("[Text](//example.org)"),
    },
    "link-target": {
        "nothing": insert("[Text]()"),
        "a fragment without a name": insert("[Text](#)"),
    },
    "link-file": {
        "no such page": insert("[Text](missing.md)"),
        "no such page, and a place in it": insert("[Text](missing.md#place)"),
        "no such HTML": insert("[Text](missing.html)"),
        "no such picture": insert('![Text](fig/missing.svg){alt=""}'),
        "outside the lesson": insert("[Text](/etc/hostname)"),
        "no name for a file": insert("[Text](a%00b.md)"),
        "too long": insert(f"[Text]({'long' * 100}.md)"),
    },
    "link-asset": {
        "a file of the root": swap("](fig/dots.svg)", "](../CITATION.cff)"),
        "a page of another folder": several(
            write("more/notes.md", b"---\ntitle: Notes\n---\n"),
            insert("[Text](../more/notes.md)"),
        ),
        **{
            f"{folder} is not copied": several(
                write(f"{folder}/dots.svg", b"<svg/>"),
                swap("](fig/dots.svg)", f"](../{folder}/dots.svg)"),
            )
            for folder in ("data", "images", "fig", "episodes/images")
        },
    },
    "link-fragment": {
        "no such name": insert("[Text](#missing)"),
        "no such name in another page": insert("[Text](../learners/setup.md#missing)"),
        "no such name in HTML": insert("[Text](setup.html#missing)"),
        "capitals": insert("[Text](#Count-them)"),
        "pandoc's name of a heading": insert("### A.b\n\n[Text](#a.b)"),
        "the Workbench's name of a heading": insert("### A.b\n\n[Text](#a-b)"),
        "a heading with an id, by its words": insert("### First {#other}\n\n[Text](#first)"),
    },
    "link-label": {
        "for a target": insert("[Text](python)"),
        "in capitals": insert("[Text](Python)"),
        "with a title": insert('[Text](python "title")'),
        "of the page": insert("[Text](name)\n\n[name]: https://example.org"),
        "for an image": insert('![Text](python){alt=""}'),
    },
    "link-undefined": {
        "nowhere defined": insert("[Text][nowhere]"),
    },
    "link-text": {
        **{
            text: insert(f"[{text}](setup.md)")
            for text in (
                "here",
                "click here",
                "see here",
                "there",
                "this",
                "that",
                "it",
                "**This link**",
                "the page",
                "more",
                "More…",
                "more details",
                "for more information",
                "learn more here",
                "read on",
                "read more about",
                "link",
                "",
                "x",
                "ü",
            )
        },
        "in a page of the root": swap("Open an issue", "[Here](https://a.org)", "CONTRIBUTING.md"),
        "of a label": insert("[here][python]"),
        "that is a label": insert("[here]\n\n[here]: https://example.org"),
        "in HTML": insert('<a href="setup.md">here</a>'),
    },
    "image-alt": {
        "no attribute": insert("![Text](fig/dots.svg)"),
        "another attribute": insert("![Text](fig/dots.svg){width=50%}"),
        "a label": insert("![Text][dots]\n\n[dots]: fig/dots.svg"),
        "in HTML": insert('<img src="fig/dots.svg">'),
        "in HTML, without a value": insert('<img src="fig/dots.svg" alt>'),
    },
    "picture-exists": {
        "none": swap(PICTURE, ""),
        "only one for decoration": swap('{alt="Three dots"}', '{alt=""}'),
        "only one in code": swap(PICTURE, f"`{PICTURE}`"),
    },
    # Divs
    "div-class": {
        "unknown": insert("::: warning\n\nText.\n\n:::"),
        "in capitals": insert("::: Callout\n\nText.\n\n:::"),
        "unknown beside a known one": insert("::: {.callout .Solution}\n\nText.\n\n:::"),
        "none": insert("::: {#id}\n\nText.\n\n:::"),
    },
    "div-balance": {
        "never closed": insert("::: callout\n\nNever closed."),
        "never opened": insert("Text.\n\n:::"),
        "closed once of twice": insert("::: callout\n\n::: callout\n\nText.\n\n:::"),
        "closed with two colons": insert("::: callout\n\nText.\n\n::"),
    },
    "div-fence": {
        "81 colons": insert("::: callout\n\nText.\n\n" + ":" * 81),
        "two words": insert("::: two words"),
        "a class and braces": insert("::: {.callout\n\nText."),
        "opened after a blank": insert(" ::: callout\n\nText.\n\n:::"),
        "closed after a blank": insert("::: callout\n\nText.\n\n :::"),
        "deeper than its list item": insert("- item\n\n   ::: callout\n\n   Text.\n\n  :::"),
    },
    "div-required": {
        "no questions": swap(QUESTIONS, ""),
        "no objectives": swap(OBJECTIVES, ""),
        "no keypoints": swap(KEYPOINTS, ""),
        "questions twice": insert(QUESTIONS),
        "objectives twice": insert(OBJECTIVES),
        "keypoints twice": swap(KEYPOINTS, f"{KEYPOINTS}\n{KEYPOINTS}"),
    },
    "div-order": {
        "text above the questions": swap("---\n\n::: questions", "---\n\nText.\n\n::: questions"),
        "text above the objectives": swap(OBJECTIVES, f"Text.\n\n{OBJECTIVES}"),
        "text below the keypoints": append("\nText.\n"),
        "objectives in another div": swap(OBJECTIVES, f"::: callout\n\n{OBJECTIVES}\n:::\n"),
        "keypoints in another div": swap(KEYPOINTS, f"::: callout\n\n{KEYPOINTS}\n:::\n"),
    },
    "div-list": {
        "questions": swap("- How are", "How are"),
        "objectives": swap("- Count three", "Count three"),
        "keypoints": swap("- Things are", "Things are"),
    },
    "div-in-challenge": {
        "a solution": insert("::: solution\n\nText.\n\n:::"),
        "a hint": insert("::: callout\n\n::: hint\n\nText.\n\n:::\n\n:::"),
    },
    "challenge-parts": {
        "text after a solution": swap(NOTE, f"More.\n\n{NOTE}"),
        "a box after a solution": swap(NOTE, f"::: callout\n\nMore.\n\n:::\n\n{NOTE}"),
    },
    "div-tab": {
        what: insert(f"::: tab\n\n### One\n\n{text}\n\n:::")
        for what, text in {
            "a table": TABLE,
            "a table without outer pipes": "a | b\n--|--\nc | d",
            "a table of columns": "a    b\n---  ---\nc    d",
            "a table in a grid": "+---+\n| a |\n+---+",
            "a table of one column": "| a |\n|---|\n| b |",
            "a table in HTML": "<table><tr><td>a</td></tr></table>",
            "a div": "::: callout\n\nText.\n\n:::",
            "a div in HTML": "<div>Text.</div>",
            "a quotation": "> Text.",
            "a line across": "Text.\n\n---\n\nText.",
            "a formula": "$$x$$",
            "terms": "Term\n:   Its meaning.",
        }.items()
    }
    | {"a table in group-tab": insert(f"::: group-tab\n\n### One\n\n{TABLE}\n\n:::")},
    # Blank lines
    "blank-line-fence": {
        "before a div": insert("Text.\n::: callout\n\nText.\n\n:::"),
        "after a div": insert("::: callout\n\nText.\n\n:::\nText."),
        "after its opening": insert("::: callout\nText.\n\n:::"),
        "before its closing": insert("::: callout\n\nText.\n:::"),
        "before code": insert("Text.\n```text\na\n```"),
        "after code": insert("```text\na\n```\nText."),
        "between code and a list": insert("```text\na\n```\n- item"),
    },
    "blank-line-heading": {
        "after text": insert("Text.\n### Heading"),
        "after a heading": insert("### Heading\n#### Another"),
    },
    "blank-line-list": {
        "of dashes": insert("Text.\n- item"),
        "of stars": insert("Text.\n* item"),
        "of numbers": insert("### Heading\n1. item"),
        "in a quotation": insert("> Text.\n> - item"),
        "after the text that ends a list": insert("- item\n\nText.\n- item"),
    },
    "blank-line-table": {
        "after text": insert(f"Text.\n{TABLE}"),
        "after a list": insert(f"- item\n{TABLE}"),
    },
    # Tables
    "table-headers": {
        "the first": insert("| | b |\n|---|---|\n| c | d |"),
        "the last": insert("| a | |\n|---|---|\n| c | d |"),
    },
    "table-cells": {
        "a row with more": insert(f"{TABLE}\n| e | f | g |"),
        "a row with fewer": insert(f"{TABLE}\n| e |"),
        "text right below": insert(f"{TABLE}\nText."),
        "a header with fewer": insert("| a |\n|---|---|\n| c | d |"),
        "a line of dashes with fewer": insert("| a | b |\n|---|\n| c | d |"),
        "in a quotation": insert("> | a | b |\n> |---|---|\n> | c |"),
        "a pipe in code": insert(f"{TABLE}\n| `e|f` | g |"),
        "an escaped pipe in code": insert(f"{TABLE}\n| `e\\|f` | g |"),
        "a pipe in code in the header": insert("| `a|b` | c |\n|---|---|\n| d | e |"),
        "without outer pipes": insert("a | b\n--|--\n`c|d` | e"),
    },
    # Code
    "code-closed": {"never": insert("~~~text\nNever closed.")},
    "comment-closed": {"never": insert("<!-- Never closed.")},
    "code-info": {
        "braces of R Markdown": insert("```{python}\nx = 1\n```"),
        "two words": insert("```python display\nx = 1\n```"),
        "py": insert("```py\nx = 1\n```"),
        "in capitals": insert("```Python\nx = 1\n```"),
        "python3": insert("```{.python3}\nx = 1\n```"),
        "ipython": insert("~~~ipython {.display}\nx = 1\n~~~"),
    },
    "code-output": {
        "without code": insert("```output\n1\n```"),
        "without code in its div": insert("::: callout\n\n```output\n1\n```\n\n:::"),
        "after text": insert("```python\nx\n```\n\nText.\n\n```output\n1\n```"),
        "of code for display": insert("```{.python .display}\nx\n```\n\n```output\n1\n```"),
    },
    "code-in-hint": {
        "live": swap("{.python .display}", "python"),
        "in a spoiler": insert("::: spoiler\n\n```python\nx\n```\n\n:::"),
    },
}

# What looks like a mistake and is none.
FINE: dict[str, dict[str, Change]] = {
    "heading-first": {"in a div": insert("::: callout\n\n## Two\n\n:::")},
    "heading-jump": {"up by more than one": insert("### Three\n\n#### Four\n\n## Two")},
    "heading-unique": {
        "under two headings": insert("### Same\n\n## Other\n\n### Same"),
    },
    "heading-id": {
        "a number with an id": insert("### 2. First {#first}\n\n[Text](#first)"),
        "a number inside": insert("### Step 2"),
    },
    "link-scheme": {
        scheme: insert(f"[Text]({scheme}example)")
        for scheme in ("https://", "ftp://", "ftps://", "mailto:", "tel:", "sms:", "urn:")
    },
    "link-https": {"in code": insert("`http://example.org`\n\n```text\nhttp://a.org\n```")},
    "link-file": {
        target: insert(f"[Text]({target})")
        for target in (
            "setup.md",
            "setup.html",
            "../learners/setup.md",
            "learners/setup.html",
            "index.md",
            "LICENSE.html",
            "instructor-notes.md",
            "learner-profiles.html",
            "01-count.md",
            "fig/dots.svg",
        )
    },
    "link-asset": {
        folder: several(
            write(f"episodes/{folder}/more/a.csv", b"a\n"), insert(f"[Text]({folder}/more/a.csv)")
        )
        for folder in ("fig", "files", "data")
    },
    "link-fragment": {
        "a heading": insert("[Text](#count-them)"),
        "a heading of another page": insert("[Text](setup.html#tools)"),
        "a repeated heading": insert("### Count them\n\n[Text](#count-them-1)"),
        "an id": insert("### 1. One {#one}\n\n[Text](#one)"),
        "a div": insert("::: {.callout #box}\n\nText.\n\n:::\n\n[Text](#box)"),
        "a part of a picture": insert("[Text](fig/dots.svg#layer)"),
        "a span": insert("[Here]{#spot}\n\n[Text](#spot)"),
    },
    "link-undefined": {
        "brackets that are no link": insert("- [x] done [1] \\[a][b]"),
        "a label of the page": insert("[Text][name]\n\n[name]: setup.md 'Set-up'"),
    },
    "link-text": {
        "two letters": insert("[R2](setup.md)"),
        "more words": insert("[More about tools](setup.md), [this one's page](setup.md)"),
    },
    "image-alt": {
        "for decoration": insert('![](fig/dots.svg){alt=""}'),
        "in HTML": insert('<img src="fig/dots.svg" alt="Three dots">'),
        "in code": insert("`![a](b)`"),
    },
    "picture-exists": {
        "in HTML": swap(PICTURE, '<img src="fig/dots.svg" alt="Three dots">'),
    },
    "div-class": {
        name: insert(f"::: {name}\n\nText.\n\n:::")
        for name in sorted(
            KNOWN_DIVS
            - {"questions", "objectives", "keypoints", "challenge", "solution", "hint"}
            - {"discussion"}
        )
    },
    "div-balance": {
        "closed with another length": insert(":::::: callout\n\nText.\n\n:::::::::"),
        "nested at the same length": insert(
            "::: callout\n\n::: callout\n\nText.\n\n:::\n\n:::\n\n### After"
        ),
        "nested with the longer one inside": insert(
            "::: callout\n\n:::::: callout\n\nText.\n\n::::::\n\n:::"
        ),
        "colons in code": insert("```text\n::: callout\n```\n\n`::: callout` and\n\n    ::: a"),
        "colons in longer code": insert("````text\n```\n::: a\n```\n````\n\n~~~\n:::\n~~~"),
        "colons in a comment": insert("<!--\n::: callout\n-->"),
    },
    "div-fence": {
        "braces": insert('::: {.callout #id k="v"}\n\nText.\n\n:::'),
        "colons at the end": insert("::: callout :::\n\nText.\n\n:::"),
        "colons at the end of braces": insert("::: {.callout} ::::\n\nText.\n\n:::"),
        "no blank": insert(":::callout\n\nText.\n\n:::"),
        "80 colons": insert("::: callout\n\nText.\n\n" + ":" * 80),
        "in a list item": insert("- item\n\n  ::: callout\n\n  Text.\n\n  :::\n\n  Text."),
    },
    "div-order": {
        "objectives first": several(
            swap(f"{OBJECTIVES}\n", ""), swap(QUESTIONS, f"{OBJECTIVES}\n{QUESTIONS}")
        ),
        "definitions at the end": append("\n[name]: https://example.org\n"),
    },
    "challenge-parts": {
        "text after a hint": swap(SOLUTION, f"Count on.\n\n{SOLUTION}"),
        "with a heading": swap(NOTE, f"#### Second part\n\nCount to five.\n\n{NOTE}"),
    },
    "div-tab": {
        "headings, paragraphs, lists, figures and code": insert(
            "::: tab\n\n### One\n\nText.\n\n- item\n\n![](fig/dots.svg){alt=''}\n\n### Two\n\n"
            "```text\n| a |\n|---|\n```\n\n:::"
        ),
    },
    "blank-line-fence": {"code without a fence": insert("    code\nText.")},
    "blank-line-list": {
        "an item that continues without blanks": insert("- item that\ncontinues\n- another"),
        "a list in a list": insert("- a\n  - b\n\n  Text.\n  - c"),
        "a dash, a number": insert("In the year\n2026. That is\n-5 or > - 6"),
    },
    "blank-line-table": {"the first of a div": insert(f"::: callout\n\n{TABLE}\n\n:::")},
    "table-cells": {
        "no outer pipes": insert("a | b\n--|:-:\nc | d"),
        "an escaped pipe": insert(f"{TABLE}\n| e \\| f | g |"),
        "an empty cell": insert(f"{TABLE}\n| | |"),
        "code in cells": insert(f"{TABLE}\n| `e` | ``f ` g`` |"),
        "pipes in text": insert("Text | more | text\n\n`a | b` is a pipe, not `a|b` | c"),
        "dashes under text": insert("Text\n--|--\nand more"),
        "text after a blank line": insert(f"{TABLE}\n\nText."),
        "in a list item": insert("- item\n\n  | a | b |\n  |---|---|\n  | c | d |"),
        "in code": insert(f"```text\n{TABLE}\n| e |\n```"),
    },
    "code-info": {
        "attributes": insert("```python {.display}\nx\n```\n\n```{.python .display}\nx\n```"),
    },
}
