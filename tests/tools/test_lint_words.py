"""The rules on words: for each, pages that break it and nothing else, and pages that may pass."""

import pytest

from tests.tools.changes import PAGE, Change, cases, insert, names, swap
from tools.lint import Lesson, lint_lesson, lint_page
from tools.pages.folder import ROOT

TABLE = "| a | b |\n|---|---|\n| c | d |"

# rule -> what the page does -> the change that makes it do so
BROKEN: dict[str, dict[str, Change]] = {
    "word-belittling": {
        **{
            word: insert(f"It is {word} a number.")
            for word in ("just", "simply", "Obviously", "clearly", "of course", "easily", "merely")
        },
        "in italics": insert("It is _just_ a number."),
        "over the end of a line": insert("It is of\ncourse a number."),
        "in a title": swap('title: "Count', 'title: "Simply count'),
        "in a heading": insert("### Just a number"),
        "in a link": insert("[obviously a number](setup.md)"),
        "in a table": insert(f"{TABLE}\n| simply | e |"),
        "in a description": insert('![Dots](fig/dots.svg){alt="It is just three dots"}'),
        "in a page of the root": swap("Open", "Simply open", "CONTRIBUTING.md"),
    },
    "word-contraction": {
        "four": insert("It's. Don't. We’ll. You're."),
        "four others": insert("Isn't. Where's. When's. Let's."),
        "in italics": insert("_It's. Don't. We'll. Can't_."),
    },
    "word-idiom": {
        idiom: insert(f"It is {idiom}.")
        for idiom in ("out of the box", "a rule of thumb", "a piece\nof cake", "under the hood")
    },
    "word-plain": {
        sentence: insert(sentence)
        for sentence in (
            "The mend is a flag.",
            "Mended code runs again.",
            "We reckon that ten rows are enough.",
            "It reckons with ten rows.",
            "Two instances are dearer than one.",
            "The learner shall be told.",
            "The results come to lie below `runs/`.",
            "Every file comes to\nlie below `runs/`.",
            "The job works in the name of a role.",
            "The role has the rights that it needs.",
            "You have the right to read it.",
            "Give the address of the bucket.",
            "Print both addresses.",
            "A bucket is no folder.",
            "Rows that are no numbers are left out.",
            "The file stays as it is.",
            "It keeps the rows as they are, unsorted.",
            "The job has ended by now.",
            "Keep a list of one's own.",
            "Each trial has a folder of its own.",
            "Take a bucket of your own.",
            "Jobs have folders of their own in the bucket.",
            "That is what a checkpoint is for.",
            "The job goes on from the checkpoint.",
            "It went on with epoch 3.",
            "All jobs ended well.",
            "The slopes are added.",
            "It listens behind a secret.",
        )
    }
    | {
        "in a heading": insert("### The mend"),
        "in a description": insert('![Dots](fig/dots.svg){alt="Dots with a mend"}'),
        "in a link": insert("[The mend](setup.md)"),
        "in a table": insert(f"{TABLE}\n| a mend | e |"),
        "in italics": insert("It is a _mend_."),
        "in a page of the root": swap("Open", "Mend", "CONTRIBUTING.md"),
    },
    "word-subject": {
        "who": insert("Who has an account runs the cells."),
        "what": insert("What trains is another machine."),
        "whoever": insert("Whoever wants the labels reads the file."),
        "after a sentence": insert("Count them. What remains is three."),
        "after a question": insert("Why three? What remains is three."),
        "after code at the end": insert("Count `x`. What `x` needs is three."),
        "with code in it": insert("What `x.y` needs is three."),
        "over the end of a line": insert("What remains\nof them is three."),
        "after another line": insert("Count them.\nWhat remains is three."),
        "in a list": insert("- What remains is three.\n- Four."),
        "in a later item": insert("1. Count them\n2. What remains is three."),
        "in a definition": insert("Three\n:   What remains."),
        "in a table": insert(f"{TABLE}\n| What remains is three. | e |"),
        "in bold": insert("**What remains** is three."),
        "before a number": insert("What remains is 3.5 at most."),
        "with an exclamation": insert("What a number!"),
    },
}

# What looks like a mistake and is none.
FINE: dict[str, dict[str, Change]] = {
    "word-belittling": {
        "in code": insert("`simply`\n\n```text\njust\n```\n\n    simply = 1"),
        "in a comment": insert("Text <!-- simply --> and\n\n<!-- just -->"),
        "an address": insert("[Text][a]\n\n[a]: https://example.org/simply\n\n<https://just.org>"),
        "a label": insert("[Text][just]\n\n[just]: https://example.org"),
        "other words": insert("Justice is unjust, and a simple clear course."),
    },
    "word-contraction": {
        "three": insert("It's. Don't. We’ll."),
        "owners": insert("The learner's, Amazon's, Google's and the jobs' rows."),
        "in code": insert("`it's don't can't won't isn't`"),
    },
    "word-plain": {
        "in code": insert("`mend` is a command\n\n```text\nmend, reckon\n```"),
        "in a comment": insert("Text <!-- mend -->"),
        "a link's target": insert("[Text](https://example.org/mend)"),
        "quoted": insert("> The rights to use and to copy the software."),
        "other words": insert("Amend the recommended commendable document."),
        "there is none": insert("There is no file, there was no bucket, and it is no longer new."),
        "an address of a machine or of a person": insert(
            "Its IP address, and your e-mail address."
        ),
        "right": insert("The right answer is the one to the right."),
        "your own": insert("Take your own bucket, as it is written in the notes."),
        "the name of its own": insert("Take the name of your own bucket, of its own `data`."),
    },
    "word-subject": {
        "a question": insert("Who pays? What does it cost, and for how long?"),
        "a question over the end of a line": insert("What does\nit cost?"),
        "a question of a list": insert("- What does it cost\n  in all?\n- Who pays?"),
        "a question in a table": insert(f"{TABLE}\n| What does it cost? | Three. |"),
        "a question after code": insert("What does `x.y` cost?"),
        "a heading": insert("### What it costs\n\nThree."),
        "no statement in a list": insert("- What it costs\n- Who pays\n\nThree."),
        "no statement in a table": insert("| What | Who |\n|---|---|\n| a. | b. |"),
        "in the middle": insert("You see what remains, and who pays. See the part “What remains”."),
    },
}


@pytest.mark.parametrize(("rule", "change"), cases(BROKEN))
def test_what_breaks_a_rule_is_found_and_nothing_else(clean_lesson, rule, change):
    change(clean_lesson)
    assert names(clean_lesson) == {rule}


@pytest.mark.parametrize(("rule", "change"), cases(FINE))
def test_what_a_rule_allows_is_no_error(clean_lesson, rule, change):
    change(clean_lesson)
    assert lint_lesson(Lesson(clean_lesson)) == []


@pytest.mark.parametrize(
    ("text", "at", "better"),
    [
        ("One.\n\nThis is a\nmend.", "mend", "fix"),
        ("The results come to lie\nbelow.", "come to lie", "is stored"),
        ("It works in the name of a role.", "in the name of", "assumes the role"),
        ("The address of a bucket.", "address", "URI"),
        ("Count them.\nWhat remains is three.", "What remains", "begin with its subject"),
    ],
)
def test_a_finding_names_the_line_and_what_to_write(clean_lesson, text, at, better):
    insert(text)(clean_lesson)
    (finding,) = lint_lesson(Lesson(clean_lesson))
    assert at in (clean_lesson / PAGE).read_text().split("\n")[finding.line - 1]
    assert better in finding.message


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        ".github/CHANGELOG.md",
        ".github/SECURITY.md",
        "tools/benchmarks/README.md",
        "local-cloud/benchmarks/README.md",
    ],
)
def test_pages_that_the_site_does_not_show_keep_the_words_too(name):
    findings = lint_page(Lesson(ROOT), ROOT / name)
    assert [str(each) for each in findings if each.rule in ("word-plain", "word-subject")] == []
