"""How far a job or a study is: written again and again, in place."""

from __future__ import annotations

import html
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TextIO

from lesson.jobs.epochs import Epoch
from lesson.jobs.states import CANCELLED, ENDED, FAILED, SUCCEEDED, with_word
from lesson.money.costs import dollars
from lesson.show import curve

LEAST_FIRST = ("loss", "cost")  # what a narrow terminal leaves out
COLOURS = {SUCCEEDED: 32, FAILED: 31, CANCELLED: 33}  # green, red, yellow: ECMA-48, SGR
RED = "#e03c3c"  # contrast of 4.3:1 with white, and with JupyterLab's dark ground
PLAIN_EVERY = 5.0  # seconds between lines where none can be overwritten: in a file or a pipe


@dataclass(frozen=True)
class Progress:
    """What is known of a running job; None is what is not known yet."""

    state: str  # one of lesson.jobs.states
    epoch: int | None = None
    epochs: int | None = None
    loss: float | None = None  # on the validation rows
    score: float | None = None  # on the validation rows
    score_name: str = "accuracy"
    seconds: float = 0.0  # since the job was sent
    cost: float | None = None  # US dollars so far
    interruptions: int = 0  # after each of which the job was, or will be, started again
    service_state: str = ""  # the service's own word
    curve: curve.Points = ()  # epochs seen so far, each with its loss on the validation rows

    def with_epochs(self, epochs: Sequence[Epoch]) -> Progress:
        """Return it with these epochs as its curve, and the numbers of the last of them."""
        if not epochs:
            return self
        last = epochs[-1]
        return replace(
            self,
            epoch=last.number,
            loss=last.loss,
            score=last.score,
            score_name=last.score_name,
            curve=tuple((each.number, each.loss) for each in epochs),
        )

    @property
    def share(self) -> float | None:
        """Return which part is done, from 0 to 1; all of it for a job that has succeeded."""
        if self.state == SUCCEEDED:
            return 1.0
        if self.epoch is None or not self.epochs:
            return 0.0 if self.state in ENDED else None
        return min(1.0, self.epoch / self.epochs)

    def words(self, width: int | None = None) -> str:
        """Return everything that is known, in words; if that is too wide, what matters most."""
        known = self._parts()
        for least in LEAST_FIRST:
            if width is not None and len("  ".join(known.values())) > width:
                known.pop(least, None)
        if width is not None and len("  ".join(known.values())) > width:
            known["state"] = self.state
        return "  ".join(known.values())

    def _parts(self) -> dict[str, str]:
        """Return what is known by name, in the order in which it is shown."""
        parts = {"state": with_word(self.state, self.service_state)}
        if self.epoch is not None:
            parts["epoch"] = f"epoch {self.epoch}" + (f" of {self.epochs}" if self.epochs else "")
        if self.interruptions:
            goes_on = "" if self.state in ENDED else ", resumes"
            parts["interruptions"] = f"interrupted {times(self.interruptions)}{goes_on}"
        if self.loss is not None:
            parts["loss"] = f"validation loss {self.loss:.4f}"
        if self.score is not None:
            parts["score"] = f"{self.score_name} {self.score:.4f}"
        parts["seconds"] = f"{self.seconds:.0f} s"
        if self.cost is not None:
            parts["cost"] = f"about {dollars(self.cost)}"
        return parts

    def lines(self, width: int | None = None, height: int | None = None) -> list[str]:
        """Return the one line that a terminal shows, of `width` characters at most."""
        return [text(self, width)]

    def markup(self) -> str:
        """Return what a notebook shows."""
        return markup(self) + curve.markup(self.curve)


class View(Protocol):
    """Something that a Display can show: a job's progress, or a study with its trials."""

    @property
    def state(self) -> str:
        """Return the state in one word."""

    def lines(self, width: int | None = None, height: int | None = None) -> list[str]:
        """Return it in a line, and in more lines below that, as wide and as many as fit."""

    def markup(self) -> str:
        """Return the same for a notebook."""


def times(count: int) -> str:
    """Return so often, in words."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def text(progress: Progress, width: int | None = None) -> str:
    """Return one line: a bar, and beside it the words, in `width` characters at most."""
    room = None if width is None else width - len(bar(None, ""))
    return bar(progress.share, progress.words(room))[:width]


def bar(share: float | None, words: str) -> str:
    """Return a bar, and beside it the words."""
    cells = 20
    done = round((share or 0) * cells)
    return f"[{'#' * done}{'.' * (cells - done)}] {words}"


def markup(progress: Progress) -> str:
    """Return the bar for a notebook."""
    failed = progress.state == FAILED
    return bar_markup(progress.share, progress.words(), "progress of the job", failed=failed)


def bar_markup(share: float | None, words: str, label: str, *, failed: bool = False) -> str:
    """Return a bar for a notebook; what it shows is also written beside it, and told to readers.

    One that has failed is red, with a cross.
    """
    words = html.escape(words.replace("  ", " · "))
    value = "" if share is None else f' value="{share:.3f}"'
    red = f' style="accent-color: {RED}"' if failed else ""
    cross = f'<span aria-hidden="true" style="color: {RED}">✘</span> ' if failed else ""
    return (
        f'<div><progress max="1"{value}{red} aria-label="{label}" '
        f'aria-valuetext="{words}"></progress> {cross}<span>{words}</span></div>'
    )


class Display:
    """Shows a View in place: in a notebook's output, on a terminal, or now and then as a line."""

    def __init__(
        self, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Show on `stream` (default: standard output), or in the notebook if this runs in one."""
        self._stream = stream or sys.stdout
        self._now = now
        self._show = self._start(notebook=stream is None and in_notebook())
        self._handle: Any = None
        self._above = 0  # lines on the terminal above the one with the cursor
        self._shown = ("", -PLAIN_EVERY)  # the state and the time of the last plain line
        self._said = ""  # that line
        self._last: list[str] = []  # the newest, which may not be due yet, and what is below it

    def _start(self, notebook: bool) -> Callable[[View], None]:
        if notebook:
            return self._in_notebook
        return self._in_place if self._stream.isatty() else self._as_lines

    def show(self, view: View) -> None:
        """Show this in place of what was shown before."""
        self._show(view)

    def redraw(self, view: View) -> None:
        """Show this in place of what was shown last, also after close(), where that can be."""
        if self._handle is not None:
            self.show(view)

    def close(self) -> None:
        """Leave what was shown last, and let what is printed next begin on a line of its own."""
        if self._show == self._in_place:
            print(file=self._stream, flush=True)
        for line in self._last:
            if line != self._said:
                print(line, file=self._stream, flush=True)

    def _in_notebook(self, view: View) -> None:
        from IPython.display import display

        bundle = {"text/html": view.markup(), "text/plain": "\n".join(view.lines())}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bundle, raw=True)

    def _in_place(self, view: View) -> None:
        size = shutil.get_terminal_size()
        lines = view.lines(size.columns - 1, size.lines - 1)  # a full line would wrap, and stay
        up = f"\033[{self._above}A" if self._above else ""
        lines[0] = colour(lines[0], view.state)
        cleared = "\n".join(f"\r\033[K{line}" for line in lines)
        print(f"{up}{cleared}", end="", file=self._stream, flush=True)
        self._above = len(lines) - 1

    def _as_lines(self, view: View) -> None:
        (state, at), now = self._shown, self._now()
        self._last = view.lines()
        if view.state != state or now - at >= PLAIN_EVERY:
            self._shown, self._said = (view.state, now), self._last[0]
            print(self._said, file=self._stream, flush=True)


def colour(line: str, state: str) -> str:
    """Return a line with its bar in the colour of an end, unless NO_COLOR asks for none."""
    if state not in COLOURS or os.environ.get("NO_COLOR"):
        return line
    shown, bracket, words = line.partition("]")
    return f"\033[{COLOURS[state]}m{shown}{bracket}\033[0m{words}"


def note(text: str) -> None:
    """Say something that is neither a result nor an error: on stderr, as programs do.

    In a notebook on stdout: what is on stderr looks like an error there, in red.
    """
    stream = sys.stdout if in_notebook() else sys.stderr
    print(wrap(text, stream), file=stream, flush=True)


def wrap(text: str, stream: TextIO | None = None) -> str:
    """Return a line as lines that end between two words, where they go to a terminal."""
    if not (stream or sys.stdout).isatty():
        return text
    width = shutil.get_terminal_size().columns
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def in_notebook() -> bool:
    """Tell whether this runs in a Jupyter kernel, whose outputs can be replaced."""
    if "IPython" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return getattr(shell, "kernel", None) is not None
