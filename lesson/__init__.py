"""What the notebooks and both clouds' helpers share: preparation, runs, plots, exercise checks.

Importing this package is light (standard library only); pandas, scikit-learn and matplotlib load
when a function needs them.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class LessonError(Exception):
    """Something the reader can fix; the message says what, where and what to do next."""

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows instead of a traceback, which would hide the sentence."""
        return [f"{type(self).__name__}: {self}"]


def target() -> str:
    """Return where the cells send their jobs: `local` (the default) or `cloud`, from LESSON_TARGET.

    The local cloud reads it, for it is an alias of its own LOCAL_CLOUD_TARGET. Raises LessonError
    for any other value, and if both are set and differ.
    """
    import local_cloud

    try:
        value = local_cloud.target()
    except local_cloud.LocalCloudError as problem:
        raise LessonError(str(problem)) from None
    if value not in ("local", "cloud"):
        raise LessonError(f"LESSON_TARGET is {value!r}; set it to local or cloud, or unset it")
    return value


def opening() -> None:
    """Work in the lesson's folder and print the target in force: every notebook's first cell."""
    from lesson.setup import notebook_errors
    from lesson.show import picture
    from lesson.show import waiting_line as waiting

    os.chdir(ROOT)
    notebook_errors.install()
    waiting.install()
    picture.follow_theme()
    show_target()


def show_target() -> None:
    """Print the target in force."""
    meaning = {
        "local": "nothing leaves this machine, nothing costs money",
        "cloud": "cells that send jobs use your account, and cost money",
    }
    print(f"LESSON_TARGET={target()}: {meaning[target()]}.")


def console(at: str = "") -> None:
    """Show a link to the console of the local cloud: it signs the browser in, and works once.

    at: where the browser sees the local cloud, if that is behind a proxy such as a hub's:
    "https://hub.example.org/user/ada/proxy/PORT". Raises LessonError under LESSON_TARGET=cloud.
    """
    from lesson.show.console_link import show_link

    show_link(at)


def reset() -> None:
    """Begin again: empty the local cloud and runs/, and say so; notebooks in work/ stay.

    Raises LessonError under LESSON_TARGET=cloud, where nothing is deleted in this way.
    """
    from lesson.setup.clean_start import clean_start

    clean_start(ROOT)
