"""The image of a job: the lesson's own, and what is said about a prebuilt one that runs out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import timedelta

from lesson import target

SOON = timedelta(days=60)

_warned: set[str] = set()


def own_image(fits: Callable[[str], bool]) -> str | None:
    """Return the image named in LESSON_IMAGE that fits a cloud; None without, and under `local`.

    The variable may name one for each cloud, with a blank between them.
    """
    if target() == "local":
        return None
    return next(filter(fits, os.environ.get("LESSON_IMAGE", "").split()), None)


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
        return " Here no registry is asked for it, so the job runs."
    return ""
