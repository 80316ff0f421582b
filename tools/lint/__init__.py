"""The lesson lint: what a page and the lesson's folder have to keep. `python -m tools.lint`.

The rules come from The Carpentries' Workbench (sandpaper, pegboard) and from its reviewers'
checklists. Each is a small function whose docstring says it: `structure` (front matter, headings,
divs, code), `blanks` (lines), `tables`, `linking`, `review` (exercises), `words` and `project` (the
folder).
"""

from tools.lint import blanks, linking, pacing, project, review, structure, tables, words
from tools.lint.registry import Finding, all_rules, lint_lesson, lint_page
from tools.pages.folder import Lesson

__all__ = [
    "Finding",
    "Lesson",
    "all_rules",
    "blanks",
    "linking",
    "lint_lesson",
    "lint_page",
    "pacing",
    "project",
    "review",
    "structure",
    "tables",
    "words",
]
