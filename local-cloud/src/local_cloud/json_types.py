"""The type of what JSON's objects become."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
