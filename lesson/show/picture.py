"""A picture for everybody: a file, and a text for readers who cannot see it."""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass
from pathlib import Path

from lesson.show.progress import in_notebook

# JupyterLab says on its body which theme it has. Plots, and the diagrams of Markdown cells, are
# turned from light to dark; their hues stay what they are, for the text of a page names them.
DARK = (
    'body[data-jp-theme-light="false"] :is(img.lesson-plot, .jp-MarkdownOutput img[src*=".svg"])'
    " {filter: invert(0.93) hue-rotate(180deg)}"
)


@dataclass(frozen=True)
class Picture:
    """A picture in a file, with a text for readers who cannot see it; notebooks show both."""

    path: Path
    alt: str

    def _repr_html_(self) -> str:
        content = base64.b64encode(self.path.read_bytes()).decode()
        alt = html.escape(self.alt)
        return (
            f"<style>{DARK}</style>"
            f'<img class="lesson-plot" alt="{alt}" style="max-width: 100%" '
            f'src="data:image/png;base64,{content}">'
        )


def follow_theme() -> None:
    """Let the diagrams of this notebook follow JupyterLab's theme; elsewhere do nothing."""
    if in_notebook():
        from IPython.display import display

        style = {"text/html": f"<style>{DARK}</style>", "text/plain": ""}
        display(style, raw=True)  # type: ignore[no-untyped-call]
