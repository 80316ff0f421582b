"""Small packages, and an index on loopback from which uv's cache is filled once."""

from __future__ import annotations

import os
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def wheel(folder: Path, name: str, version: str, *requires: str) -> Path:
    """A package of one module that says its version, and a command of the same name."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
    members = {
        f"{name}.py": f"import sys\nversion = {version!r}\ndef main(): print(sys.executable)\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
        record = "".join(f"{member},,\n" for member in [*members, f"{about}/RECORD"])
        archive.writestr(f"{about}/RECORD", record)
    return path


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def index(folder: Path) -> Iterator[dict[str, str]]:
    """A package index of the wheels in a folder; uv's variables for it."""
    for path in folder.glob("*.whl"):
        project = path.name.partition("-")[0].replace("_", "-")
        page = folder / "simple" / project / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        with page.open("a") as file:
            file.write(f'<a href="/{path.name}">{path.name}</a>\n')
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {"UV_DEFAULT_INDEX": f"http://127.0.0.1:{server.server_port}/simple"}
    finally:
        server.shutdown()
        server.server_close()


def run_line(line: str, variables: dict[str, str]) -> None:
    """Run a command as a learner pastes it into a shell."""
    assert "environments.fetch" in line
    own = {name: text for name, text in os.environ.items() if not name.startswith(("UV_", "PIP_"))}
    subprocess.run(["sh", "-c", line], env=own | variables, check=True, capture_output=True)
