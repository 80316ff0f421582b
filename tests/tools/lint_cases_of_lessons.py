"""Changes to a lesson that break, or keep, the rules on its files and on its exercises and times.

BROKEN and FINE read as the list of rules: the rule's id, then what a page does.
"""

from tests.tools.changes import (
    PAGE,
    Change,
    append,
    config,
    cut,
    insert,
    remove,
    rename,
    several,
    swap,
    write,
)
from tests.tools.conftest import CONFIG, GITIGNORE
from tests.tools.lint_cases_of_pages import NOTE, SOLUTION

FRONT = '---\ntitle: "Count things"'
EXERCISE, END = "::: challenge", "::: keypoints"
DISCUSSION = "::: discussion\n\nWhy?\n\n::: instructor\n\nAsk around.\n\n:::\n\n:::"
CHALLENGE = (
    "::: challenge\n\n### Exercise: more (7 minutes)\n\n::: solution\n\nFour.\n\n:::\n\n:::\n"
)
AIMS = "::: objectives\n\n- Count things with Python.\n\n:::"  # of index.md
OPTIONAL, LINE = "## Optional: More", "count()\n"
SLOWER = swap("teaching: 15", "teaching: 16")

# rule -> what the lesson does -> the change that makes it do so
BROKEN: dict[str, dict[str, Change]] = {
    # Files
    "root-file": {
        f"no {name}": remove(name)
        for name in (
            "CITATION.cff",
            "CODE_OF_CONDUCT.md",
            "CONTRIBUTING.md",
            "LICENSE.md",
        )
    },
    "citation": {
        "no YAML": write("CITATION.cff", b"title: a: b\n"),
        "no mapping": write("CITATION.cff", b"- a\n"),
        "no authors": swap("authors:", "writers:", "CITATION.cff"),
        "nobody among the authors": swap("authors:\n- name: A team", "authors:", "CITATION.cff"),
        "no title": swap("title: Count things\n", "", "CITATION.cff"),
        "no message": swap("message:", "note:", "CITATION.cff"),
        "no version of the format": swap("cff-version: 1.2.0\n", "", "CITATION.cff"),
    },
    "lesson-page": {
        "no glossary page": remove("learners/reference.md"),
        "no learner profiles": remove("profiles/learner-profiles.md"),
    },
    "episode-name": {
        "no number": rename(PAGE, "count.md"),
        "one digit": rename(PAGE, "1-count.md"),
        "capitals": rename(PAGE, "01-Count.md"),
        "a blank": rename(PAGE, "01-count things.md"),
    },
    "index-site": {
        "another site": swap("site: sandpaper::sandpaper_site", "site: other", "index.md"),
    },
    "conduct-link": {
        "no link": write("CODE_OF_CONDUCT.md", b"---\ntitle: Conduct\n---\n\nBe kind.\n"),
    },
    "glossary": {
        "another heading": swap("## Glossary", "## Words", "learners/reference.md"),
    },
    "audience": {
        "a profile without a name": swap("## Ada\n\n", "", "profiles/learner-profiles.md"),
    },
    "prerequisites": {
        "another div": swap("::: prereq", "::: callout", "index.md"),
    },
    "data-licence": {
        "no licence for data": swap("Data: CC0 1.0.", "", "LICENSE.md"),
    },
    "gitignore": {
        f"no line {line}": swap(f"{line}\n", "", ".gitignore") for line in GITIGNORE.split()
    },
    "readable": {
        "not UTF-8": write("learners/more.md", b"\xff\xfe"),
    },
    # config.yaml
    "config-readable": {
        "no YAML": config("title: ", "title: a: "),
        "no mapping": write("config.yaml", b"- a list\n"),
    },
    "config-key": {
        f"no {line.partition(':')[0]}": config(line, line.replace(":", "_:", 1))
        for line in CONFIG.splitlines()
        if ":" in line
    },
    "config-value": {
        "life_cycle: done": config("life_cycle: pre-alpha", "life_cycle: done"),
        "carpentry: other": config("carpentry: incubator", "carpentry: other"),
        "created without a date": config("created: 2026-01-31", "created: ~"),
        "created: a text": config("created: 2026-01-31", "created: soon"),
        "title of blanks": config('title: "Count things"', 'title: " "'),
        "keywords as a list": config("keywords: counting, lesson", "keywords: [counting]"),
        "license without a name": config("license: CC-BY 4.0", "license:"),
        "branch without a name": config("branch: main", "branch:"),
        "source over http": config("https://github.com", "http://github.com"),
        "contact without an address": config("contact: team@example.org", "contact: team"),
        "learners as a text": config("learners:", "learners: setup.md"),
        "profiles with a number": config("profiles:", "profiles: [1]"),
    },
    "config-file": {
        "an episode that is not there": config("- 01-count.md", "- 01-count.md\n- 02-more.md"),
        "a learners' page that is not there": config("learners:", "learners: [more.md]"),
    },
    "config-instructors": {
        "other pages only": several(
            write("instructors/other.md", b"---\ntitle: Other\n---\n\nText.\n"),
            config("- instructor-notes.md", "- other.md"),
        ),
    },
    # Front matter
    "front-matter": {
        "after a blank line": swap(FRONT, f"\n{FRONT}"),
        "second line blank": swap(FRONT, '---\n\ntitle: "Count things"'),
        "no YAML": swap(FRONT, "---\ntitle: Count: things"),
        "never closed": swap("exercises: 5\n---\n", "exercises: 5\n"),
    },
    "front-matter-title": {
        "an empty title": swap('title: "Count things"', 'title: ""'),
        "a title of blanks": swap('title: "Count things"', 'title: " "'),
        "a number": swap('title: "Count things"', "title: 1"),
        "none in a page for learners": swap("title: Set", "name: Set", "learners/setup.md"),
        "none in a page of the root": swap("title: Licences", "name: Licences", "LICENSE.md"),
    },
    "front-matter-times": {
        "no teaching": swap("teaching: 15\n", ""),
        "no exercises": swap("exercises: 5\n", ""),
        "a text": swap("teaching: 15", 'teaching: "15"'),
        "a fraction": swap("exercises: 5", "exercises: 5.5"),
        "below zero": swap("teaching: 15", "teaching: -1"),
    },
    # What reviewers ask for: exercises and objectives
    "exercise-exists": {"none": cut(EXERCISE, END)},
    "exercise-often": {"one in 16 minutes": several(SLOWER, swap(END, f"{'word ' * 60}\n\n{END}"))},
    "exercise-gap": {
        "16 minutes before it": several(
            SLOWER, insert(f"{'word ' * 300}"), swap(END, f"{DISCUSSION}\n\n{END}")
        )
    },
    "episode-length": {
        "19 minutes": swap("teaching: 15", "teaching: 14"),
        "61 minutes": several(swap("es: 5", "es: 46"), swap("(5 minutes)", "(46 minutes)")),
    },
    "pace-teaching": {
        "two minutes too few": several(
            swap("teaching: 15", "teaching: 13"),
            swap("exercises: 5", "exercises: 7"),
            swap("(5 minutes)", "(7 minutes)"),
        ),
        "500 words more": swap(END, f"{'word ' * 500}\n\n{END}"),
        "30 lines of code more": swap(END, f"```{{.python .display}}\n{LINE * 30}```\n\n{END}"),
        "15 cells more": swap(END, "```python\nx = 1\n```\n\n" * 15 + END),
    },
    "pace-core": {
        "26 minutes": several(
            insert(f"{DISCUSSION}\n\n```{{.python .display}}\n{LINE * 112}```"),
            swap("teaching: 15", "teaching: 26"),
        )
    },
    # Long words: the formula counts words, and a reader has to read all their letters.
    "pace-density": {"long words": insert(f"{'unpronounceable' * 60} " * 20)},
    "pace-optional": {
        "a name that only an optional cell defines": insert(
            f"{OPTIONAL}\n\n```python\nmore = 3\n```\n\n## Next\n\n```python\nprint(more)\n```"
        ),
        "an import": insert(
            f"{OPTIONAL}\n\n```python\nimport json\n```\n\n## Next\n\n"
            "```python\njson.loads('1')\n```"
        ),
    },
    "exercise-minutes": {"not in the title": swap("four (5 minutes)", "four")},
    "exercise-sum": {
        "another in the front matter": swap("exercises: 5", "exercises: 6"),
        "an optional one in the front matter": several(
            swap("exercises: 5", "exercises: 12"), insert(f"{OPTIONAL}\n\n{CHALLENGE}")
        ),
    },
    "exercise-solution": {
        "a challenge without a solution": cut(SOLUTION, NOTE),
        "a discussion without guidance": insert("::: discussion\n\nWhy?\n\n:::"),
    },
    "objective-verb": {
        "of an episode": swap("- Count three", "- Understand three"),
        "of the lesson": swap("- Count things", "- Learn", "index.md"),
    },
    "lesson-objectives": {
        "another div": swap("objectives", "callout", "index.md"),
        "no list": swap("- Count", "Count", "index.md"),
        "a list under another heading": swap(AIMS, "## Objectives\n\n## More\n\n- A", "index.md"),
    },
}

# What looks like a mistake and is none.
FINE: dict[str, dict[str, Change]] = {
    "citation": {
        "more than is asked for": append("version: 1.0\n", "CITATION.cff"),
    },
    "config-value": {
        f"life_cycle: {stage}": config("life_cycle: pre-alpha", f"life_cycle: {stage}")
        for stage in ("pre-alpha", "alpha", "beta", "stable")
    },
    "config-file": {
        "an empty list: every page": config("- 01-count.md", ""),
    },
    "config-instructors": {
        "an empty list: every page": config("- instructor-notes.md", ""),
    },
    "front-matter": {
        "a byte order mark and Windows' ends of lines": lambda root: write(
            PAGE, b"\xef\xbb\xbf" + (root / PAGE).read_bytes().replace(b"\n", b"\r\n")
        )(root),
    },
    "pace-teaching": {
        "much that is optional": insert(
            f"{OPTIONAL}\n\n{'word ' * 900}\n\n### Deeper\n\n{'word ' * 900}\n\n{CHALLENGE}"
        ),
        "what is not read aloud": insert(
            f"::: instructor\n\n{'word ' * 600}\n\n:::\n\n"
            f'![Dots](fig/dots.svg){{alt="{"dots " * 600}"}}'
        ),
    },
    "pace-optional": {
        "the core defines it, too": insert(
            f"```python\nmore = 2\n```\n\n{OPTIONAL}\n\n```python\nmore = 3\n```\n\n"
            "## Next\n\n```python\nprint(more)\n```"
        ),
        "it is used in the same section": insert(
            f"{OPTIONAL}\n\n```python\nmore = 3\n```\n\n### Still more\n\n"
            "```python\nprint(more)\n```"
        ),
    },
    "lesson-objectives": {
        f"under the heading “{title}”": several(
            swap("::: objectives\n\n", f"## {title}\n\nAfter it:\n\n", "index.md"),
            swap("\n:::\n", "", "index.md"),
        )
        for title in ("Objectives", "What you will be able to do")
    },
    "exercise-gap": {
        "16 minutes with one between": several(
            SLOWER, insert(f"{DISCUSSION}\n\n::: callout\n\n{'word ' * 300}\n\n:::")
        ),
    },
}
