"""The lesson's folder: where pages lie, how a file is read, and what a relative link means."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from tools.scanner import Page, scan

ROOT = Path(__file__).resolve().parent.parent
ROOT_PAGES = ("index.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE.md")
PAGE_FOLDERS = ("episodes", "learners", "instructors", "profiles")


class PageError(Exception):
    """A mistake in the lesson or in a command, said in one sentence with the next step."""


def read_text(path: Path) -> str:
    """The text of a file.

    Raises PageError if there is no such file, or it cannot be read or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PageError(
            f"{path} is not UTF-8 (byte {error.start}); save it again as UTF-8"
        ) from error
    except OSError as error:
        raise PageError(f"cannot read {path} ({error.strerror}); check its name") from error


def read_page(path: Path) -> Page:
    """Read and scan a page. Raises PageError as `read_text` does."""
    return scan(read_text(path))


def lesson_root(start: Path) -> Path | None:
    """The nearest folder from `start` upwards that holds a lesson's config.yaml."""
    start = start.resolve()
    return next((p for p in (start, *start.parents) if (p / "config.yaml").is_file()), None)


def linked_file(root: Path, page: Path, target: str) -> Path | None:
    """The file that a relative link's path means, or None.

    The Workbench puts the pages of all its folders side by side, so a link may leave the folder
    out, and may name a page by the `.html` it becomes.
    """
    name = unquote(target)
    if name.endswith(".html"):
        name = name.removesuffix(".html") + ".md"
    for folder in (page.parent, root, *(root / folder for folder in PAGE_FOLDERS)):
        try:
            found = (folder / name).resolve()
            if found.is_relative_to(root.resolve()) and found.exists():
                return found
        except (OSError, ValueError):  # no file can have that name: too long, or with a NUL
            return None
    return None
