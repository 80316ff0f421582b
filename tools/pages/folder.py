"""The lesson's folder: where pages lie, how a file is read, and what a relative link means."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from tools.pages.links import definitions
from tools.pages.scanner import YAML_ERRORS, Page, scan

ROOT = Path(__file__).resolve().parents[2]
ROOT_PAGES = ("index.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE.md")
PAGE_FOLDERS = ("episodes", "learners", "instructors", "profiles")
DOCUMENTATION = "local-cloud"  # has pages that are read in the repository, not on the site


class PageError(Exception):
    """A mistake in the lesson or in a command, said in one sentence with the next step."""


def read_text(path: Path) -> str:
    """Return the text of a file.

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
    """Return the nearest folder from `start` upwards that holds a lesson's config.yaml."""
    start = start.resolve()
    return next((p for p in (start, *start.parents) if (p / "config.yaml").is_file()), None)


def resolve_link(root: Path, page: Path, target: str) -> Path | None:
    """Return the file that a relative link's path means, or None.

    The Workbench puts the pages of all its folders side by side, so a link may leave the folder
    out, and may name a page by the `.html` it becomes. In the documentation a link is a path.
    """
    name = unquote(target)
    folders = (page.parent, root, *(root / folder for folder in PAGE_FOLDERS))
    if page.is_relative_to(root / DOCUMENTATION):
        folders = (page.parent,)
    elif name.endswith(".html"):
        name = name.removesuffix(".html") + ".md"
    for folder in folders:
        try:
            path = (folder / name).resolve()
            if path.is_relative_to(root.resolve()) and path.exists():
                return path
        except (OSError, ValueError):  # no file can have that name: too long, or with a NUL
            return None
    return None


class Lesson:
    """The lesson's folder as it is read: pages are read once, when first asked for."""

    def __init__(self, root: Path) -> None:
        """`root` is the lesson's folder; it may lack anything."""
        self.root = root.resolve()
        self._pages: dict[Path, Page] = {}
        self.shared_links = definitions(scan(self.text("links.md") or ""))

    def page(self, path: Path) -> Page:
        """Return the page at a path. Raises PageError if it cannot be read."""
        if path not in self._pages:
            self._pages[path] = read_page(path)
        return self._pages[path]

    def page_paths(self) -> list[Path]:
        """Return the root's pages that the site shows, and all pages of the four folders."""
        pages = [path for name in ROOT_PAGES if (path := self.root / name).is_file()]
        return pages + [p for name in PAGE_FOLDERS for p in sorted((self.root / name).glob("*.md"))]

    def documentation_paths(self) -> list[Path]:
        """Return the pages of the local cloud's documentation."""
        folder = self.root / DOCUMENTATION
        return sorted([*folder.glob("*.md"), *folder.glob("docs/*.md")])

    def text(self, name: str) -> str | None:
        """Return the text of a file in the lesson, or None if it is missing or cannot be read."""
        try:
            return read_text(self.root / name)
        except PageError:
            return None

    def config(self) -> dict[str, Any] | None:
        """config.yaml, or None if there is no mapping to be read."""
        return self.mapping("config.yaml")

    def mapping(self, name: str) -> dict[str, Any] | None:
        """Return a YAML file of the lesson, or None if there is no mapping to be read."""
        try:
            data = yaml.safe_load(self.text(name) or "")
        except YAML_ERRORS:
            return None
        return data if isinstance(data, dict) else None
