"""The files that a training leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write(path: Path, document: Any) -> None:
    """Write JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
