"""Dates of the clouds' prebuilt images: what is said about one that is running out."""

from __future__ import annotations

import sys
from datetime import timedelta

from lesson import target

SOON = timedelta(days=60)

_warned: set[str] = set()


def warn_once(uri: str, sentence: str | None) -> None:
    """Say a sentence about an image, if there is one and none was said before.

    Under the target `local` it is not said: the image is only named there, and the job runs.
    """
    if sentence and target() == "cloud" and uri not in _warned:
        _warned.add(uri)
        print(sentence, file=sys.stderr)


def not_pulled() -> str:
    """Return what a retired image means here; nothing where it is really used."""
    if target() == "local":
        return " Here the image is only named, not pulled, so the job runs."
    return ""
