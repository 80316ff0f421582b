"""The folder of one local cloud: its secret, its URL, its lock and its data."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import importlib.util
import json
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from local_cloud.disk_errors import in_words
from local_cloud.errors import LocalCloudError

NEVER = 4_102_444_800  # in the year 2100
SECRET = 32  # bytes of chance in it
WORD = re.compile(r"[A-Za-z0-9_-]+")  # what secrets.token_urlsafe makes
# What is in the folder beside the data; a lost one is made again.
FILES = (
    "lock",
    "secret",
    "address.json",
    "server.log",
    "starting",
    "stopped",
    "aws-config",
    "sagemaker.yaml",
    "boto",
)
# Bytes of the folder's path: SQLite opens no file whose path has more than 512 (os_unix.c,
# MAX_PATHNAME), and the longest one of ours adds fewer than 100.
LONGEST = 400
LONGEST_NAME = 240  # bytes of a folder's own name, to which a file system gives 255
CHECKOUT = Path(__file__).resolve().parents[2]


def default_folder() -> Path:
    """LOCAL_CLOUD_HOME, or `local-cloud` in the user's state folder.

    LocalCloudError for one whose path is too long.
    """
    if named := os.environ.get("LOCAL_CLOUD_HOME"):
        return _require_length(Path(named).expanduser().absolute())
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return _require_length(Path(state).expanduser().absolute() / "local-cloud")


def _require_length(folder: Path) -> Path:
    """Return the folder; LocalCloudError if its path is too long for the files below it."""
    name = max(len(os.fsencode(part)) for part in folder.parts)
    length = len(os.fsencode(os.path.realpath(folder)))
    if name > LONGEST_NAME or length > LONGEST:
        which = f"a name of {name}" if name > LONGEST_NAME else f"{length}"
        most = LONGEST_NAME if name > LONGEST_NAME else LONGEST
        raise LocalCloudError(
            f"the path of the local cloud's folder has {which} bytes, more than {most}: name a"
            " folder with a shorter path in LOCAL_CLOUD_HOME"
        )
    return folder


def _is_usable(path: Path) -> bool:
    """Return whether a file can be read and, unless its whole disk is read-only, written."""
    if not (path.is_file() and os.access(path, os.R_OK)):
        return False
    return os.access(path, os.W_OK) or bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def identity() -> dict[str, str]:
    """Say whose code and packages a server started from here would run.

    `interpreter` is for people: one environment has several names for it, such as
    .venv/bin/python and .venv/bin/python3.11, and a link may lead to the environment.
    """
    return {
        "checkout": str(CHECKOUT),
        "environment": os.path.realpath(sys.prefix),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}{sys.abiflags}",
        "interpreter": sys.executable,
    }


def difference(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    """Return what is not the same in two identities, in words; "" if nothing is."""
    if theirs.get("checkout") != ours["checkout"]:
        return "its code is of another folder"
    if _environment(theirs) != ours["environment"]:
        return "its packages belong to another environment"
    if theirs.get("python", ours["python"]) != ours["python"]:
        return f"its Python is {theirs['python']}, and this one is {ours['python']}"
    return ""


def _environment(who: dict[str, Any]) -> str:
    """Return the environment; an earlier local cloud wrote only its interpreter's path."""
    interpreter = Path(who.get("interpreter", "/"))
    return str(who.get("environment") or os.path.realpath(interpreter.parent.parent))


# What the server imports beside the standard library; a client does without. `extras` has more.
SERVER_NEEDS = (
    "anyio",
    "botocore",
    "filelock",
    "google.cloud.aiplatform_v1",
    "google_crc32c",
    "httptools",
    "jinja2",
    "numpy",
    "optuna",
    "packaging",
    "psutil",
    "starlette",
    "tensorboard",
    "uvicorn",
)


def missing_packages() -> list[str]:
    """Return which of the server's packages the environment of this interpreter lacks."""
    return [name for name in SERVER_NEEDS if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # a package above it
        return False


@dataclass(frozen=True)
class Home:
    """Paths below the folder, and what is written there; only the owner can read it."""

    folder: Path

    @property
    def data(self) -> Path:
        """Return the folder of everything that `reset` removes: buckets, records, jobs."""
        return self.folder / "data"

    @property
    def images(self) -> Path:
        """Return the folder with the environments of pulled images, which `reset` keeps."""
        return self.folder / "images"

    @property
    def log(self) -> Path:
        """Return the path of the server's log."""
        return self.folder / "server.log"

    def own_for(self, who: dict[str, str]) -> Home:
        """Return another home beside this one, for another checkout or environment."""
        counts = {name: text for name, text in who.items() if name != "interpreter"}
        digest = hashlib.sha256(json.dumps(counts, sort_keys=True).encode()).hexdigest()[:8]
        folder = self.folder.resolve()
        return Home(folder.with_name(f"{folder.name}-{digest}"))

    def beside(self) -> list[Home]:
        """Return this user's homes beside this one, of other checkouts and environments."""
        folder = self.folder.resolve()
        addresses = sorted(folder.parent.glob(f"{glob.escape(folder.name)}-*/address.json"))
        homes = [Home(address.parent) for address in addresses]
        return [home for home in homes if home.folder.lstat().st_uid == os.geteuid()]

    def make(self) -> None:
        """Make the folder, for the owner's eyes only.

        LocalCloudError for one that holds other things, of which `reset` would remove `data`, for
        another user's, who could read what is in it, and for one that cannot be written. One that
        is whole is left as it is, so that a server on a disk that has become read-only is found.
        """
        if os.pathsep in str(self.folder):
            raise LocalCloudError(
                f"{self.folder} has a colon in it, at which PYTHONPATH is split: name another "
                "folder in LOCAL_CLOUD_HOME"
            )
        _require_length(self.folder)
        with in_words():
            self.folder.mkdir(parents=True, exist_ok=True)
        if self.folder.stat().st_uid != os.geteuid():
            raise LocalCloudError(
                f"{self.folder} belongs to another user of this machine: name a folder of your own "
                "in LOCAL_CLOUD_HOME"
            )
        names = set(os.listdir(self.folder))
        if names and "lock" not in names and not {"secret", "address.json"} <= names:
            raise LocalCloudError(
                f"{self.folder} holds other things: name a new folder in LOCAL_CLOUD_HOME"
            )
        self._require_files()
        with in_words():
            if stat.S_IMODE(self.folder.stat().st_mode) != 0o700:
                self.folder.chmod(0o700)
            if "lock" not in names:
                (self.folder / "lock").touch()

    def _require_files(self) -> None:
        """Raise LocalCloudError for what is no file, or may not be read or written."""
        for name in FILES:
            path = self.folder / name
            if path.exists() and not _is_usable(path):
                raise LocalCloudError(
                    f"{path} is not a file that can be read and written: move it out of"
                    f" {self.folder}, and the local cloud makes a new one"
                )

    def secret(self) -> str:
        """Return the unguessable word in every URL; kept over restarts, until `forget_secret`.

        LocalCloudError for a file that does not hold a whole one, such as an empty one.
        """
        path = self.folder / "secret"
        if not path.exists():
            self.make()
            with in_words():
                self._write_secret(path)
        word = path.read_bytes().decode("ascii", "replace").strip()
        if len(word) < len(secrets.token_urlsafe(SECRET)) or not WORD.fullmatch(word):
            raise LocalCloudError(
                f"{path} is damaged: run `python -m local_cloud stop`, and remove that file"
            )
        return word

    def _write_secret(self, path: Path) -> None:
        """Write one, whole or not at all; if another process was first, its secret holds."""
        new = path.with_name(f"secret.{secrets.token_hex(4)}")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(SECRET))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
        new.unlink()

    def forget_secret(self) -> None:
        """Have the next `secret()` make a new one: another process may have received this one."""
        (self.folder / "secret").unlink(missing_ok=True)

    def address(self) -> dict[str, Any]:
        """Return what the last server wrote about itself: port, pid, identity; {} before the first.

        Empty also if the file is damaged: the next server writes it again, with another port.
        """
        try:
            document = json.loads((self.folder / "address.json").read_bytes())
        except (OSError, ValueError):
            return {}
        if type(document) is not dict:
            return {}
        is_whole = type(document.get("port")) is int and type(document.get("pid")) is int
        return document if is_whole and 0 < document["port"] < 65536 else {}

    def last_start(self) -> float:
        """Return when the last server wrote about itself, in seconds since 1970.

        Before the first, return 0.
        """
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / "address.json").stat().st_mtime
        return 0.0

    def write_address(self, address: dict[str, Any]) -> None:
        """Write it whole or not at all."""
        new = self.folder / "address.json.new"
        new.write_text(json.dumps(address))
        new.replace(self.folder / "address.json")

    @property
    def aws_config(self) -> Path:
        """Return the AWS SDKs' configuration, in place of the user's, which names real accounts."""
        return self.folder / "aws-config"

    @property
    def sagemaker_config(self) -> Path:
        """Return the SageMaker SDK's defaults in place of the user's own."""
        return self.folder / "sagemaker.yaml"

    @property
    def gcloud_config(self) -> Path:
        """gcloud's folder in place of the user's own, which holds real accounts."""
        return self.folder / "gcloud"

    @property
    def boto_config(self) -> Path:
        """gsutil's configuration in place of the user's own."""
        return self.folder / "boto"

    def write_sdk_files(self) -> None:
        """Write the files that SDKs are pointed at; they are always the same."""
        # A server on loopback answers at once or is not there: a second try is enough.
        self.aws_config.write_text("[default]\ncli_pager =\nmax_attempts = 2\n")
        self.sagemaker_config.write_text(
            "SchemaVersion: '1.0'\n"
            "SageMaker:\n  PythonSDK:\n    Modules:\n      TelemetryOptOut: true\n"
        )
        # "Not a machine of Google's": ten minutes after this time gcloud would ask again.
        self.gcloud_config.mkdir(exist_ok=True)
        on_google = self.gcloud_config / "gce"
        on_google.write_text("False")
        os.utime(on_google, (NEVER, NEVER))
        # gsutil itself knows only https; it has `gcloud storage` do the work if told so.
        self.boto_config.write_text(
            "[GSUtil]\nuse_gcloud_storage = True\nhidden_shim_mode = no_fallback\n"
            "software_update_check_period = 0\n"
        )

    def url(self, port: int) -> str:
        """Return the URL that every request begins with."""
        return f"http://127.0.0.1:{port}/{self.secret()}"

    def lock(self, tries: int = 1) -> TextIO | None:
        """Take the lock that a server holds while it runs; None if another holds it.

        Whoever only looks whether it is held (`running`) holds it for an instant: to get it for
        sure, try some times, 10 ms apart. By hand, for a client has the standard library alone, and
        the holder's process id is written in it.
        """
        self.make()
        with in_words():
            file = (self.folder / "lock").open("a+")  # what the holder wrote stays
        for _ in range(tries):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.truncate(0)  # of a holder that was killed
                return file
            time.sleep(0.01)
        file.close()
        return None

    def running(self) -> bool:
        """Return whether a server holds the lock; several processes may ask at the same time."""
        if not self.folder.exists():
            return False
        self.make()
        with (self.folder / "lock").open("rb") as file:  # its disk may have become read-only
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def server(self) -> int | None:
        """Return the process id of the server that holds the lock and listens, or None."""
        if not self.running():
            return None
        written = (self.folder / "lock").read_bytes()
        return int(written) if written.isdigit() else None

    @contextlib.contextmanager
    def starting(self, seconds: float) -> Iterator[None]:
        """Let one process at a time start a server here; LocalCloudError after so many seconds.

        Whoever waited looks again, because the server may run by then.
        """
        self.make()
        end = time.monotonic() + seconds
        with in_words():
            file = (self.folder / "starting").open("a")
        with file:
            while True:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                if time.monotonic() > end:
                    raise LocalCloudError(
                        f"another process has been starting the local cloud in {self.folder} for"
                        f" {seconds:.0f} s: look at {self.log}, then try again"
                    )
                time.sleep(0.02)
            yield

    def note_stop(self) -> None:
        """Remember that the server was stopped on purpose, and when.

        On a disk that has become read-only it ends all the same, and nothing starts it there.
        """
        if self.folder.exists():
            with contextlib.suppress(OSError):
                (self.folder / "stopped").touch()

    def forget_stop(self) -> None:
        """Forget the stop: a server runs again."""
        (self.folder / "stopped").unlink(missing_ok=True)

    def stop_time(self) -> str:
        """Return when the last server was stopped on purpose, as HH:MM:SS; "" if it was not."""
        try:
            at = (self.folder / "stopped").stat().st_mtime
        except FileNotFoundError:
            return ""
        return time.strftime("%H:%M:%S", time.localtime(at))

    def set_data_aside(self) -> list[Path]:
        """Move the data aside at once; return the folders to remove, those of earlier times too.

        The secret and the port stay, so that open notebooks go on.
        """
        if self.data.exists():
            self.data.replace(self.data.with_name(f"data.removed-{secrets.token_hex(4)}"))
        return list(self.folder.glob("data.removed-*"))
