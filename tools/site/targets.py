"""Where the links and images of a page lead on the site."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from urllib.parse import quote

from tools.pages.folder import DOCUMENTATION, PageError, resolve_link
from tools.pages.links import Link, definitions, links, outermost
from tools.site.plan import Plan

ASSETS = ("fig", "files", "data")  # folders of episodes/ that the site copies
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
_SPAN = re.compile(r"\[([^\[\]]*)\]\{\s*#([^\s{}]+)\s*\}")


class Targets:
    """Rewrites the links of one page, in one view."""

    def __init__(
        self, plan: Plan, path: Path, instructor: bool, *, inline: Callable[[str], str]
    ) -> None:
        """`inline` renders a caption's Markdown."""
        self.plan = plan
        self.path = path
        self.instructor = instructor
        self.inline = inline
        self.known = {**plan.lesson.shared_links, **definitions(plan.page(path))}

    def rewrite(self, text: str) -> str:
        """Return Markdown whose links work on the site.

        An image becomes HTML, with its description.
        """
        for link in reversed(outermost(links(text, self.known))):
            alone = not text[: link.start].rpartition("\n\n")[2].strip()
            alone &= not text[link.end :].partition("\n\n")[0].strip()
            new = self._link(link, text[link.start : link.end], alone)
            text = text[: link.start] + new + text[link.end :]
        return _SPAN.sub(r'<span id="\2">\1</span>', text)

    def _link(self, link: Link, raw: str, alone: bool) -> str:
        if link.target is None:
            raise PageError(f"{self._name()}: the label `{link.label}` is not defined; define it")
        if link.form == "auto":
            return raw
        target = self._target(link.target)
        if link.form == "html":
            return raw.replace(link.target, target)
        if link.image:
            return self._image(link, target, alone)
        return f"[{self.rewrite(link.text)}](<{target}>)"

    def _image(self, link: Link, target: str, alone: bool) -> str:
        """Return an image in a line, or one that stands alone with its caption below it."""
        pairs = link.attributes.pairs
        alt = " ".join(pairs.get("alt", link.text).split())
        width = f' style="width: {escape(pairs["width"])}"' if "width" in pairs else ""
        image = f'<img src="{escape(target)}" alt="{escape(alt)}"{width}>'
        if not alone:
            return image
        shown = link.text if link.text != alt else ""
        caption = f"<figcaption>{self.inline(self.rewrite(shown))}</figcaption>" if shown else ""
        return f'<figure><div class="picture">{image}</div>{caption}</figure>'

    def _target(self, target: str) -> str:
        path, mark, fragment = target.partition("#")
        if not path or _SCHEME.match(path):
            return target
        found = resolve_link(self.plan.root, self.path, path)
        folder = self.plan.root / "episodes"
        for name in ASSETS:
            if found and found.is_relative_to(folder / name):
                up = "../" if self.instructor else ""
                return up + quote(found.relative_to(folder).as_posix())
        if found and found.is_relative_to(self.plan.root / DOCUMENTATION):
            source, branch = (str(self.plan.config[name]) for name in ("source", "branch"))
            way = quote(found.relative_to(self.plan.root).as_posix())
            return f"{source.rstrip('/')}/blob/{branch}/{way}{mark}{fragment}"
        entry = next((e for e in self.plan.entries if found and e.path == found), None)
        if found is None:
            raise PageError(f"{self._name()}: there is no file `{path}`; fix the link")
        if entry is None:
            raise PageError(
                f"{self._name()}: `{path}` is no page of the site; list it in config.yaml, or "
                f"move the file to episodes/{ASSETS[1]}"
            )
        hidden = entry.part == "For instructors" and not self.instructor
        return ("instructor/" if hidden else "") + quote(entry.file) + mark + fragment

    def _name(self) -> str:
        return self.path.relative_to(self.plan.root).as_posix()
