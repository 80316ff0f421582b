"""`python -m tools.lint [page or folder …]`: exit 0 without errors, 1 with, 2 if misused."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.lint.registry import Finding, all_rules, lint_lesson, lint_page
from tools.pages.folder import PAGE_FOLDERS, ROOT, Lesson, lesson_root
from tools.pages.pace import table


def lint(path: Path) -> tuple[int, list[Finding]]:
    """(how many pages were read, what is wrong) of a page, a folder of pages or a lesson."""
    path = path.resolve()
    if (path / "config.yaml").is_file() or path == ROOT:
        lesson = Lesson(path)
        pages = [*lesson.page_paths(), *lesson.documentation_paths()]
        return len(pages), lint_lesson(lesson)
    folder = path if path.is_dir() else path.parent
    above = folder.parent if folder.name in PAGE_FOLDERS else folder
    lesson = Lesson(lesson_root(folder) or above)
    pages = sorted(path.glob("*.md")) if path.is_dir() else [path]
    return len(pages), [finding for page in pages for finding in lint_page(lesson, page)]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.lint", description="Check the lesson.")
    parser.add_argument("--rules", action="store_true", help="list the rules and stop")
    parser.add_argument("--pace", action="store_true", help="print how long each episode takes")
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT], help="pages or folders")
    options = parser.parse_args(arguments)
    if options.rules:
        for name, rule in all_rules().items():
            print(f"{name:20} {(rule.__doc__ or '').splitlines()[0]}")
        return 0
    if options.pace:
        print(table(Lesson(options.paths[0])))
        return 0
    missing = [path for path in options.paths if not path.exists()]
    if missing:
        print(f"there is no page or folder {missing[0]}; check its name", file=sys.stderr)
        return 2
    results = [lint(path) for path in options.paths]
    if not any(count or wrong for count, wrong in results):
        print(
            f"{options.paths[0]} holds no pages; name a page or a folder of them", file=sys.stderr
        )
        return 2
    pages, findings = sum(count for count, _ in results), [f for _, wrong in results for f in wrong]
    print("\n".join(map(str, findings)) or f"{pages} page{'s' * (pages != 1)}, no errors")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
