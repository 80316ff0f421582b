"""Google's projects: an id that people choose, and a number that resources are named by."""

from __future__ import annotations

import zlib


def project_number(project: str) -> str:
    """The number of a project, always the same: twelve digits, as real ones have.

    Whoever gives the number itself gets it back.
    """
    return project if project.isdecimal() else str(100_000_000_000 + zlib.crc32(project.encode()))
