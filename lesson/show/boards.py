"""The real TensorBoard on a folder of logs, shown in a notebook; nothing of it outlives the kernel.

TensorBoard asks nobody who they are, so its URL is unguessable and only this machine reaches
it. Its own magic, `%tensorboard`, has neither, and leaves a process behind.
"""

from __future__ import annotations

import html
import os
import secrets
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from lesson import ROOT, LessonError


class TensorBoard:
    """A TensorBoard of its own process; as the last line of a cell it is shown there."""

    def __init__(self, folder: str | Path) -> None:
        """Start it on the logs below `folder`; it reads again what is added to them.

        Raises LessonError if there is no such folder, or if TensorBoard does not start.
        """
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise LessonError(f"{folder}: no such folder; train with --tensorboard_dir first")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lesson.show.boards", str(self.folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,  # closed with this process, whatever ends it
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        # Not as an argument, which every user of the machine can read.
        print(secrets.token_urlsafe(16), file=self._process.stdin, flush=True)
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            self.stop()
            raise LessonError(
                "TensorBoard did not start; try `python -m tensorboard.main "
                f"--logdir {self.folder}` in a terminal: it says why"
            )

    def browser_url(self) -> str:
        """Return the URL as the reader's browser sees it.

        A browser on another machine needs a way through Jupyter, which jupyter-server-proxy makes:
        TENSORBOARD_PROXY_URL says where, as for TensorBoard's own magic; on a JupyterHub it is
        known.
        """
        parts = urlsplit(self.url)
        hub = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
        proxy = os.environ.get("TENSORBOARD_PROXY_URL") or (hub and f"{hub}proxy/%PORT%/")
        if not proxy:
            return self.url
        return proxy.replace("%PORT%", str(parts.port)).rstrip("/") + parts.path

    def _repr_html_(self) -> str:
        url = html.escape(self.browser_url())
        return (
            f'<p>TensorBoard: <a href="{url}" target="_blank">{url}</a></p>'
            f'<iframe src="{url}" width="100%" height="700" title="TensorBoard"></iframe>'
        )

    def __repr__(self) -> str:
        """Return where it is, and what it shows."""
        return f"TensorBoard of {self.folder} at {self.browser_url()}"

    def stop(self) -> None:
        """End it; it does no harm to do so twice."""
        self._process.communicate()  # closes its standard input, and waits for its end


def serve(folder: str) -> None:
    """Serve on a free port of this machine, until standard input is closed.

    The first line of standard input is the secret in its URL.
    """
    from tensorboard import program

    secret = sys.stdin.readline().strip()
    board = program.TensorBoard()
    where = ["--host", "127.0.0.1", "--port", "0", "--path_prefix", f"/{secret}"]
    # The faster loader is a further process, which would be left behind.
    board.configure(argv=["tensorboard", "--logdir", folder, *where, "--load_fast", "false"])
    print(board.launch(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(*sys.argv[1:])
