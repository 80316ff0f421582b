"""The link that opens the console of the local cloud from a notebook or a terminal."""

from __future__ import annotations

import html

from lesson import LessonError, target
from lesson.show.progress import in_notebook
from local_cloud import LocalCloudError, console_link

FOR_HOW_LONG = "it works once, within two minutes, and signs this browser in for twelve hours"


def show_link(at: str = "") -> None:
    """Show it; `at` is where the browser sees the local cloud behind a proxy.

    Raises LessonError where there is no local cloud to look at.
    """
    if target() == "cloud":
        raise LessonError(
            "LESSON_TARGET is cloud: your jobs are in the console of Google Cloud or of AWS"
        )
    try:
        link = console_link(at=at)
    except LocalCloudError as problem:
        raise LessonError(str(problem)) from None
    if not in_notebook():
        print(f"{link}\n({FOR_HOW_LONG})")
        return
    from IPython.display import display

    anchor = f'<a href="{html.escape(link)}" target="_blank" rel="noopener">Open the console</a>'
    bundle = {"text/html": f"{anchor}: {FOR_HOW_LONG}.", "text/plain": f"{link} ({FOR_HOW_LONG})"}
    display(bundle, raw=True)  # type: ignore[no-untyped-call]
