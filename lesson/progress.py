"""How far a job is: one line or one bar that is written again and again, in place."""

from __future__ import annotations

import html
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

from lesson.costs import dollars

WELL = ("succeeded", "completed")  # Vertex AI's word, and SageMaker's
BADLY = ("failed", "cancelled", "stopped")  # states in which nothing moves any more
PLAIN_EVERY = 5.0  # seconds between lines where none can be overwritten: in a file or a pipe


@dataclass(frozen=True)
class Progress:
    """What is known of a running job; None is what is not known yet."""

    state: str
    epoch: int | None = None
    epochs: int | None = None
    loss: float | None = None  # on the validation rows
    accuracy: float | None = None  # on the validation rows
    seconds: float = 0.0  # since the job was sent
    cost: float | None = None  # US dollars so far
    interruptions: int = 0  # after each of which the job was, or will be, started again

    @property
    def share(self) -> float | None:
        """Which part is done, from 0 to 1; all of it, if the job has stopped early and well."""
        if self.state in WELL:
            return 1.0
        if self.epoch is None or not self.epochs:
            return 0.0 if self.state in BADLY else None
        return min(1.0, self.epoch / self.epochs)

    def words(self) -> str:
        """Everything that is known, in words."""
        parts = [self.state]
        if self.epoch is not None:
            parts.append(f"epoch {self.epoch}" + (f" of {self.epochs}" if self.epochs else ""))
        if self.interruptions:
            goes_on = "" if self.state in WELL + BADLY else ", goes on"
            parts.append(f"interrupted {times(self.interruptions)}{goes_on}")
        if self.loss is not None:
            parts.append(f"validation loss {self.loss:.4f}")
        if self.accuracy is not None:
            parts.append(f"accuracy {self.accuracy:.4f}")
        parts.append(f"{self.seconds:.0f} s")
        if self.cost is not None:
            parts.append(f"about {dollars(self.cost)}")
        return "  ".join(parts)


def times(count: int) -> str:
    """So often, in words."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def text(progress: Progress, width: int | None = None) -> str:
    """One line: a bar, and beside it the words; cut after `width` characters."""
    cells = 20
    done = round((progress.share or 0) * cells)
    return f"[{'#' * done}{'.' * (cells - done)}] {progress.words()}"[:width]


def markup(progress: Progress) -> str:
    """The bar for a notebook; what it shows is also written beside it, and told to readers."""
    words = html.escape(progress.words().replace("  ", " · "))
    share = progress.share
    value = "" if share is None else f' value="{share:.3f}"'
    return (
        f'<div><progress max="1"{value} aria-label="progress of the job" '
        f'aria-valuetext="{words}"></progress> <span>{words}</span></div>'
    )


class Display:
    """Shows Progress in place: a notebook's output, a terminal's line, or now and then a line."""

    def __init__(
        self, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Show on `stream` (default: standard output), or in the notebook if this runs in one."""
        self._stream = stream or sys.stdout
        self._now = now
        self._show = self._start(notebook=stream is None and in_notebook())
        self._handle: Any = None
        self._shown = ("", -PLAIN_EVERY)  # the state and the time of the last plain line
        self._said = self._last = ""  # that line, and the newest, which may not be due yet

    def _start(self, notebook: bool) -> Callable[[Progress], None]:
        if notebook:
            return self._in_notebook
        return self._in_place if self._stream.isatty() else self._as_lines

    def show(self, progress: Progress) -> None:
        """Show this in place of what was shown before."""
        self._show(progress)

    def close(self) -> None:
        """Leave what was shown last, and let what is printed next begin on a line of its own."""
        if self._show == self._in_place:
            print(file=self._stream, flush=True)
        elif self._last != self._said:
            print(self._last, file=self._stream, flush=True)

    def _in_notebook(self, progress: Progress) -> None:
        from IPython.display import display

        bundle = {"text/html": markup(progress), "text/plain": text(progress)}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bundle, raw=True)

    def _in_place(self, progress: Progress) -> None:
        width = shutil.get_terminal_size().columns - 1  # a full line would wrap, and stay
        clear = "\r\033[K"
        print(f"{clear}{text(progress, width)}", end="", file=self._stream, flush=True)

    def _as_lines(self, progress: Progress) -> None:
        (state, at), now = self._shown, self._now()
        self._last = text(progress)
        if progress.state != state or now - at >= PLAIN_EVERY:
            self._shown, self._said = (progress.state, now), self._last
            print(self._last, file=self._stream, flush=True)


def in_notebook() -> bool:
    """Whether this runs in a Jupyter kernel, whose outputs can be replaced."""
    if "IPython" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return getattr(shell, "kernel", None) is not None
