"""A line below a cell that has printed nothing for some seconds: the cell runs, and for how long.

Importing an SDK, starting PyTorch or starting a training again takes seconds in which a notebook
shows only `[*]`. The line disappears as soon as the cell shows something itself, or has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from lesson.show.progress import bar_markup, in_notebook

AFTER = 3.0  # seconds without an output
EVERY = 1.0  # seconds between two updates
OUTPUTS = ("stream", "display_data", "update_display_data", "execute_result", "error")
MARK = {"lesson": "waiting"}  # the metadata by which tests know that this is no cell's own output


def install(after: float = AFTER) -> None:
    """Show the line in this process's kernel; without one, or a second time, do nothing."""
    if not in_notebook():
        return
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if not hasattr(shell, "waiting_line"):
        shell.waiting_line = WaitingLine(shell, after)


class WaitingLine:
    """The line of one kernel."""

    def __init__(self, shell: Any, after: float) -> None:
        """Listen to the shell's cells, and to all that the kernel sends."""
        self._publish = shell.display_pub.publish
        self._after = after
        self._quiet = threading.Event()  # set as soon as the line is not wanted any more
        self._thread: threading.Thread | None = None
        session = shell.kernel.session
        session.send = self._listen_to(session.send)
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    def _listen_to(self, send: Callable[..., Any]) -> Callable[..., Any]:
        """Return the session's send(), which also ends the line when it is a sent output."""

        def heard(socket: Any, message: Any, *arguments: Any, **more: Any) -> Any:
            kind = message if isinstance(message, str) else message["msg_type"]
            if kind in OUTPUTS and threading.current_thread() is not self._thread:
                self._quiet.set()
            return send(socket, message, *arguments, **more)

        return heard

    def _begin(self, info: object) -> None:
        self._end()
        self._quiet = threading.Event()
        self._thread = threading.Thread(target=self._run, args=[self._quiet], daemon=True)
        self._thread.start()

    def _end(self, result: object = None) -> None:
        self._quiet.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, quiet: threading.Event) -> None:
        if quiet.wait(self._after):
            return
        shown = {"display_id": f"waiting-{id(quiet)}"}
        seconds, update = self._after, False
        while not quiet.is_set():
            words = f"running for {seconds:.0f} s; nothing is printed yet"
            data = {"text/html": bar_markup(None, words, "the cell"), "text/plain": words}
            self._publish(data, MARK, transient=shown, update=update)
            update = True
            quiet.wait(EVERY)
            seconds += EVERY
        self._publish({"text/html": "", "text/plain": ""}, MARK, transient=shown, update=True)
