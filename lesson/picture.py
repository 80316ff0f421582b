"""A picture for everybody: a file, and a text for readers who cannot see it."""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Picture:
    """A picture in a file, with a text for readers who cannot see it; notebooks show both."""

    path: Path
    alt: str

    def _repr_html_(self) -> str:
        content = base64.b64encode(self.path.read_bytes()).decode()
        alt = html.escape(self.alt)
        return f'<img alt="{alt}" style="max-width: 100%" src="data:image/png;base64,{content}">'
