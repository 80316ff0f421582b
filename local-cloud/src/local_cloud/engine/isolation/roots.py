"""What the jobs of this machine may see and change: found out once, when the server starts.

Containers, seccomp, AppArmor, kernel settings and file systems refuse a root of one's own in
different ways and at different calls. So it is tried, with the best first.
"""

from __future__ import annotations

import functools
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

import local_cloud
from local_cloud.engine import system
from local_cloud.engine.base import server_sites
from local_cloud.store import trees

LAUNCHER = Path(__file__).parent / "inside" / "launcher.py"
SECONDS = 10.0  # for an attempt


class Level(StrEnum):
    """What a job can change outside its own folders and its buckets."""

    OWN_ROOT = "own root"
    READ_ONLY = "read only"
    UNPROTECTED = "unprotected"


SENTENCES = {
    Level.OWN_ROOT: (
        "Each job has its own file system: what it writes outside its buckets and its own"
        " folders disappears with it."
    ),
    Level.READ_ONLY: (
        "Jobs can read this machine's files but not your home, and can write only into their"
        " buckets and their own folders: this system allows no layer over its files."
    ),
    Level.UNPROTECTED: (
        "Jobs can read and change everything that you can, because this system allows no mounts:"
        " run only code that you trust."
    ),
}
SHARED_PROCESSES = " They can see your processes and end them."


@dataclass(frozen=True)
class Layout:
    """What one replica sees; inside/own_root.py says what each field means."""

    layer: str
    has_layer: bool
    has_processes: bool
    hidden: Sequence[str] = ()
    shown: Sequence[str] = ()
    fixed: Sequence[str] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    hosts: Sequence[str] = ()
    is_batch: bool = False

    def document(self) -> dict[str, object]:
        """Return it as JSON can hold it."""
        return asdict(self)

    def inside(self, command: tuple[str, ...], group: Path | None = None) -> tuple[str, ...]:
        """Return the command that runs `command` there; group: the control group that it joins."""
        words = json.dumps({"group": str(group or ""), "layout": self.document()})
        return (sys.executable, "-I", "-S", str(LAUNCHER), words, *command)


@dataclass(frozen=True)
class Isolation:
    """What this machine allows, and what is hidden from every job."""

    level: Level
    has_processes: bool  # whether each replica has process numbers of its own
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    @classmethod
    def find(cls, folder: Path, private: Iterable[Path], given: Iterable[Path] = ()) -> Isolation:
        """Try what this machine allows, about 0.1 s.

        folder: where the jobs' layers will be; private: folders that no job may see, but for what
        of them all jobs are given.
        """
        hidden = tuple(sorted({*homes(), *map(str, private)}))
        shown = (*find_needed_paths(folder), *map(str, given))
        if available():
            for has_layer, has_processes in ((True, True), (True, False), (False, True)):
                if _works(folder, hidden, has_layer=has_layer, has_processes=has_processes):
                    level = Level.OWN_ROOT if has_layer else Level.READ_ONLY
                    return cls(level, has_processes, hidden, shown)
            return cls(Level.READ_ONLY, False, hidden, shown)
        return cls(Level.UNPROTECTED, False)

    @property
    def sentence(self) -> str:
        """Return what a job can do to this machine."""
        ends_processes = self.level is not Level.UNPROTECTED and not self.has_processes
        return SENTENCES[self.level] + (SHARED_PROCESSES if ends_processes else "")

    def layout(
        self,
        layer: Path,
        *,
        shown: Iterable[str | Path],
        fixed: Sequence[str],
        shared: Mapping[str, Path],
        hosts: Sequence[str] = (),
        is_batch: bool = False,
    ) -> Layout:
        """Return what a replica sees; layer: a folder of its own, which need not exist."""
        return Layout(
            layer=str(layer),
            has_layer=self.level is Level.OWN_ROOT,
            has_processes=self.has_processes,
            hidden=self.hidden,
            shown=[*self.shown, *map(str, shown)],
            fixed=fixed,
            shared={path: str(folder) for path, folder in shared.items()},
            hosts=hosts,
            is_batch=is_batch,
        )


def homes() -> set[str]:
    """Return the folders in which people keep their files, keys and tokens."""
    own = [os.environ.get("HOME", "/"), pwd.getpwuid(os.getuid()).pw_dir]
    folders = {os.path.normpath(each) for each in ("/home", "/root", *own) if each.startswith("/")}
    folders |= {os.path.realpath(each) for each in folders}
    return folders - {"/", "/etc", "/opt", "/usr", "/var"}


def find_needed_paths(folder: Path) -> tuple[str, ...]:
    """Return what all jobs use, wherever it is: this Python, its packages, uv's files.

    folder: of the jobs, with what they share (.bin, .wheels).
    """
    interpreter = Path(sys.executable).resolve()
    uv_cache = os.environ.get("UV_CACHE_DIR") or f"{_base_folder('CACHE', '.cache')}/uv"
    paths = [
        sys.prefix,
        sys.base_prefix,
        sys.exec_prefix,
        str(interpreter.parents[1]),
        *server_sites(),
        str(Path(local_cloud.__file__).parent),
        str(folder / ".bin"),
        str(folder / ".wheels"),
        uv_cache,
        f"{_base_folder('CONFIG', '.config')}/uv",
    ]
    if uv := shutil.which("uv"):
        paths += [uv, os.path.realpath(uv)]
    for variable in ("UV_CONFIG_FILE", "UV_FIND_LINKS"):
        paths += [each for each in os.environ.get(variable, "").split() if each.startswith("/")]
    return tuple(dict.fromkeys(each for each in paths if each != "/"))


def _base_folder(name: str, below_home: str) -> str:
    """Return a folder of the XDG Base Directory Specification."""
    return os.environ.get(f"XDG_{name}_HOME") or str(Path.home() / below_home)


@functools.cache
def available() -> bool:
    """Return whether this machine lets a replica have mounts of its own (tried once)."""
    temporary = Path(tempfile.gettempdir())
    return system.LINUX and _works(temporary, (), has_layer=False, has_processes=False)


@functools.cache
def _works(folder: Path, hidden: tuple[str, ...], *, has_layer: bool, has_processes: bool) -> bool:
    """Try a layout with a layer in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    probe = Path(tempfile.mkdtemp(prefix=".probe-", dir=folder))
    (probe / "proof").write_text("seen", encoding="ascii")
    layout = Layout(
        layer=str(probe / "layer"),
        has_layer=has_layer,
        has_processes=has_processes,
        hidden=hidden,
        shown=find_needed_paths(folder),
        shared={"/gcs-probe/deep": str(probe)},
    )
    write = " && : > /etc/local-cloud-probe" if has_layer else ""
    command = layout.inside(("sh", "-c", f"cat /gcs-probe/deep/proof{write}"))
    try:
        tried = subprocess.run(command, cwd="/", capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        trees.remove(probe)
    return tried.stdout == b"seen" and tried.returncode == 0
