"""Start, stop, reset and look at the server process: what clients do. Standard library only."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from local_cloud.client import peers
from local_cloud.client.home import (
    CHECKOUT,
    Home,
    default_folder,
    difference,
    identity,
    missing_packages,
)
from local_cloud.client.outdated_server import (
    find_fault,
    in_words,
    is_outdated,
    restart_command,
    still_running,
)
from local_cloud.client.process_state import is_suspended
from local_cloud.errors import LocalCloudError

START_SECONDS = 60.0  # a cold disk on a busy shared machine; two seconds are usual
STOP_SECONDS = 30.0  # running jobs are given a grace period
LONGEST_SAID = 1 << 16  # bytes of what a server has said that did not start, from the end
OLDER = "changed since it started: `python -m local_cloud start` runs the new code"


@dataclass(frozen=True)
class Status:
    """What a local cloud says about itself; `url` is None where none runs."""

    home: Home
    url: str | None = field(default=None, repr=False)  # the secret is in it
    facts: dict[str, Any] = field(default_factory=dict)
    silent: int | None = None  # the process of a server that runs and does not answer

    @property
    def port(self) -> int:
        """Return the port on which the server listens, or the last one did."""
        port: int = self.home.address()["port"]
        return port

    @property
    def running(self) -> bool:
        """Return whether a server answers."""
        return self.url is not None

    @property
    def outdated(self) -> bool:
        """Return whether a server answers whose folder holds other code than it runs."""
        return self.running and is_outdated(self.facts)

    def __str__(self) -> str:
        """Return the status as `python -m local_cloud status` prints it."""
        if self.silent:
            return self.why_silent()
        others = "".join(f"\n  beside   {_describe(each)}" for each in self.home.beside())
        if not self.running:
            return f"The local cloud is not running (its folder: {self.home.folder}).{others}"
        jobs = ", ".join(f"{count} {state}" for state, count in self.facts["jobs"].items())
        code = self.facts["checkout"] + (f" ({OLDER})" if self.outdated else "")
        return (
            f"The local cloud runs as process {self.facts['pid']}: {self.facts['buckets']} buckets,"
            f" jobs: {jobs or 'none'}.\n  folder   {self.home.folder}\n"
            f"  code     {code}\n  python   {self.facts['interpreter']}\n"
            f"  jobs     {self.facts.get('isolation', '')}{others}"
        )

    def why_silent(self) -> str:
        """Say of a server that does not answer what it does, and the next step."""
        said = f"The local cloud runs as process {self.silent}, but does not answer"
        if self.silent and is_suspended(self.silent):
            return (
                f"{said}: that process is suspended. `kill -CONT {self.silent}` lets it continue,"
                " `python -m local_cloud stop` ends it; nothing is lost."
            )
        return (
            f"{said}: it is starting or busy. Try again in a minute; if it stays so,"
            f" `python -m local_cloud stop` ends it (its log is {self.home.log})."
        )


def _describe(home: Home) -> str:
    """Return a home's folder, and who has used it last."""
    used_by = home.address()
    return f"{home.folder} (used by {used_by.get('interpreter')}, {used_by.get('checkout')})"


def status(home: Home | None = None) -> Status:
    """Return whether the local cloud runs, where its folder is, what it holds.

    Without a `home` it is the one that `activate` uses from here, and so it is for `stop`.
    """
    home = home or own(Home(default_folder()))
    address = home.address()
    port = address.get("port")
    if port is None:
        return Status(home)
    pid = home.server()
    # A server that has only begun, or ends, does not have this port, and a stranger may.
    if pid is None or pid != address["pid"] or peers.is_taken(port):
        return Status(home)
    if is_suspended(pid):
        return Status(home, silent=pid)
    try:
        facts = ask(port, f"/{home.secret()}/status")
    except (OSError, ValueError, http.client.HTTPException):
        return Status(home, silent=pid if home.server() == pid else None)
    return Status(home, home.url(port), facts)


def ask(
    port: int,
    path: str,
    *,
    method: str = "GET",
    body: dict[str, Any] | None = None,
    seconds: float = 5,
) -> dict[str, Any]:
    """Return what the server answers; OSError, ValueError, HTTPException if it does not."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    with contextlib.closing(connection):
        connection.request(method, path, json.dumps(body) if body else None)
        answer = connection.getresponse()
        facts: dict[str, Any] = json.loads(answer.read())
        if answer.status != 200:
            raise ValueError(f"status {answer.status}")
        return facts


def start(home: Home | None = None) -> Status:
    """Start a server unless one runs, and wait until it answers.

    One that runs older code than its folder holds now is replaced, unless something runs on it.
    Raises LocalCloudError, with what the server said, if it does not; and if the environment of
    this interpreter lacks what a server needs.
    """
    home = home or Home(default_folder())
    server = status(home)
    if server.running:
        return _renew(server)
    with home.starting(START_SECONDS + STOP_SECONDS):
        return _start(home)


def _renew(server: Status) -> Status:
    """Return the server with the code that its folder holds now: this one, or one in its place.

    One on which something runs goes on, and a sentence says how to restart it.
    """
    # In a job there is no need to say it.
    if not server.outdated or "LOCAL_CLOUD_ENGINE" in os.environ:
        return server
    code = f"The local cloud runs older code than {server.facts['checkout']} holds now"
    if difference(server.facts, identity()):
        _say(f"{code}: `{restart_command(server.facts)}` runs the new code.")
        return server
    with server.home.starting(START_SECONDS + STOP_SECONDS):
        server = status(server.home)
        if not server.outdated:  # another client was first
            return server if server.running else _start(server.home)
        if fault := find_fault():
            _say(f"{code}, and goes on, because the new code does not start here ({fault}).")
            return server
        if runs := _make_way(server):
            _say(
                f"{code}, and goes on, because of {in_words(runs)}: `python -m"
                " local_cloud start` runs the new code when nothing of this is left, and `python -m"
                " local_cloud stop` ends it at once."
            )
            return server
        _say(f"{code}, and nothing runs on it, so it is started again.")
        _end(server.home)
        return _start(server.home)


def _make_way(server: Status) -> dict[str, int]:
    """Have the server end if nothing runs on it; else return what does."""
    path = f"/{server.home.secret()}/make-way"
    try:
        runs: dict[str, int] = ask(server.port, path, method="POST")["running"]
    except ValueError:  # it is so old that it has no such call
        return still_running(server.facts)
    except (OSError, http.client.HTTPException):
        return {"requests": 1}  # it has no time for this one
    return runs


def start_again(home: Home) -> Status:
    """Start a server that has ended by itself: the same code in the same folder, at the same port.

    LocalCloudError, with the next step, for one that was stopped on purpose, that runs and does
    not answer, or that this interpreter cannot run.
    """
    with home.starting(START_SECONDS + STOP_SECONDS):
        if at := home.stop_time():
            raise LocalCloudError(
                f"the local cloud was stopped at {at}: start it with local_cloud.activate() or"
                " `python -m local_cloud start`, then run this again; its buckets, jobs and logs"
                " are kept"
            )
        server = status(home)
        if server.silent and _is_ending(home, server.silent):
            server = status(home)
        if server.silent:
            raise LocalCloudError(str(server))
        if server.running:
            return server
        before = home.address()
        if before and (why := difference(before, identity())):
            where, python = (shlex.quote(before[name]) for name in ("checkout", "interpreter"))
            raise LocalCloudError(
                f"the local cloud has ended, and this Python cannot start it again ({why}): run"
                f" `cd {where} && {python} -m local_cloud start`"
            )
        _say("The local cloud has ended without being stopped.")
        return _start(home)


def _is_ending(home: Home, pid: int) -> bool:
    """Return whether a silent server ends within a second.

    One that is killed closes its connections first, and gives up the lock a moment later.
    """
    end = time.monotonic() + 1
    while home.server() == pid and not is_suspended(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return home.server() != pid


def _start(home: Home) -> Status:
    """Start it; the caller sees to it that no other process does so at the same time."""
    process, begun = None, 0
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        server = status(home)
        if server.running:
            if process and server.facts["pid"] != process.pid:
                process.terminate()  # another was first; ours might outlive that one's stop()
            return server
        if server.silent and is_suspended(server.silent):
            raise LocalCloudError(str(server))
        if process is None and not home.running():  # one that ends is waited for
            process, begun = _launch(home)
        if process and process.returncode is not None and not home.running():
            break
        time.sleep(0.05)
    if server.silent:
        raise LocalCloudError(str(server))
    with open(home.log, "rb") as log:
        log.seek(max(begun, log.seek(0, os.SEEK_END) - LONGEST_SAID))
        said = log.read(LONGEST_SAID).decode(errors="replace").strip().splitlines()
    raise LocalCloudError(
        f"the local cloud did not start ({said[-1] if said else 'it said nothing'}); "
        f"its log is {home.log}"
    )


def _launch(home: Home) -> tuple[subprocess.Popen[bytes], int]:
    """Run the server's program; its process, and where its words begin in the log."""
    _require_packages()
    _say("Starting the local cloud ...")
    home.make()
    with open(home.log, "a") as log:
        begun = log.tell()
        process = subprocess.Popen(
            [sys.executable, "-m", "local_cloud.server", str(home.folder)],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # it outlives this process, and its Ctrl-C
        )
    # The server outlives this process; if it does not, it must not stay as a zombie.
    threading.Thread(target=process.wait, daemon=True).start()
    return process, begun


def _require_packages() -> None:
    """Raise LocalCloudError, which says how to start a server, if this interpreter cannot."""
    if lacking := missing_packages():
        own = CHECKOUT.parents[1] / ".venv/bin/python"  # of a clone
        python = shlex.quote(str(own)) if own.exists() else "python"
        raise LocalCloudError(
            f"no local cloud of {CHECKOUT} runs, and this Python, {sys.executable}, cannot start"
            f" one: it lacks {_shortly(lacking)}. Start it with a Python that has them, then try"
            f" again: {python} -m local_cloud start"
        )


def _shortly(packages: list[str]) -> str:
    first, *rest = packages
    return f"{first} and {len(rest)} more of the server's packages" if rest else first


def _say(text: str) -> None:
    """Say it on stderr, for a shell may read stdout; in a notebook stderr looks like an error."""
    print(text, file=sys.stdout if "ipykernel.kernelapp" in sys.modules else sys.stderr, flush=True)


def stop(home: Home | None = None) -> Status:
    """Stop the server, and with it the jobs that run; buckets, records and logs stay."""
    home = home or own(Home(default_folder()))
    runs = home.running()
    home.note_stop()  # first, so that no client starts it again
    if runs:
        _say("Stopping the local cloud ...")
        _end(home)
    return Status(home)


def _end(home: Home) -> None:
    """End the server's process."""
    end = time.monotonic() + STOP_SECONDS
    told = None
    while home.running():
        # By its process id and never by a request: the port is free before the process has ended,
        # and whoever takes it would be sent the secret.
        pid = home.server()
        with contextlib.suppress(ProcessLookupError):
            if pid is not None and pid != told:
                os.kill(pid, signal.SIGTERM)
                os.kill(pid, signal.SIGCONT)  # one that is suspended would not see it
                told = pid
            if time.monotonic() > end:
                # Its reaper ends the jobs. A server that ends has taken its id out of the lock.
                os.kill(pid or home.address()["pid"], signal.SIGKILL)
        time.sleep(0.02)


def reset(home: Home | None = None) -> Status:
    """Remove every bucket, job, model and log; a server that ran runs again, at its address.

    Without a `home` it is the one that `activate` uses from here, never another checkout's.
    """
    home = home or own(Home(default_folder()))
    if not home.running():
        _clear(home)
        return Status(home)
    _require_packages()
    # Clients that find it gone meanwhile wait for its start.
    with home.starting(START_SECONDS + STOP_SECONDS):
        _say("Stopping the local cloud ...")
        _end(home)
        _clear(home)
        return _start(home)


def _clear(home: Home) -> None:
    """Remove the data of a server that does not run."""
    lock = home.lock(tries=100)
    if lock is None:
        raise LocalCloudError(f"{home.folder}: another process started it again; reset once more")
    with lock:
        # In a process of its own: removing whatever jobs have left is the server's work.
        for folder in home.set_data_aside():
            command = [sys.executable, "-m", "local_cloud.store.trees", str(folder)]
            subprocess.run(command, cwd=CHECKOUT, check=True)


def empty(home: Home) -> None:
    """Do what reset() does, of a server that runs, without starting it again."""
    ask(home.address()["port"], f"/{home.secret()}/empty", method="POST", seconds=STOP_SECONDS)


def console_link(home: Home | None = None, at: str = "") -> str:
    """Return a link to the web page that signs a browser in; it works once, within two minutes.

    Starts the local cloud if need be. at: where the browser sees its port, behind a proxy such as
    JupyterLab's: "https://hub.example.org/user/ada/proxy/PORT", where PORT stands for the number.
    """
    server = start(home) if home else in_use()
    at = at.replace("PORT", str(server.port)).rstrip("/")
    parts = urlsplit(at)
    if at and not (parts.scheme in ("http", "https") and parts.netloc):
        raise LocalCloudError(
            f"{at!r} is not a URL: give what the browser shows, from https:// to the port"
        )
    body = {"origin": f"{parts.scheme}://{parts.netloc}"} if at else None
    try:
        path = f"/{server.home.secret()}/console-link"
        code = ask(server.port, path, method="POST", body=body)["code"]
    except (OSError, ValueError, http.client.HTTPException) as problem:
        raise LocalCloudError(
            f"the local cloud that runs has no console ({problem}): `python -m local_cloud stop`,"
            " then try again"
        ) from None
    return f"{at or f'http://127.0.0.1:{server.port}'}/console/enter?code={code}"


def in_use() -> Status:
    """Return the server that this process uses, started if need be.

    One that the environment names (`python -m local_cloud env`) is used as it is.
    """
    home = Home(default_folder())
    server = status(home)
    if server.url and server.url == os.environ.get("LOCAL_CLOUD_VERTEX_URL"):
        return _renew(server)
    return start(own(home))


def own(home: Home) -> Home:
    """Return this home, or another one beside it if other code or other packages use this one.

    An interpreter that cannot run a server uses one of the same checkout, whoever started it.
    """
    used_by = home.address()
    why = difference(used_by, identity())
    if not why:
        return home
    if lacking := missing_packages():
        for other in (home, *home.beside()):
            running = status(other).facts
            if running.get("checkout") == identity()["checkout"]:
                _say(
                    f"Using the local cloud that {running['interpreter']} has started: this"
                    f" Python, {sys.executable}, lacks {_shortly(lacking)}."
                )
                return other
    kept = _find_latest(home)
    pid = home.server()
    if pid is None and not (kept and used_by):
        return home
    other = kept or home.own_for(identity())
    _say(
        f"Using the folder {other.folder}: {home.folder} is used by another local cloud"
        f" ({_runs(pid)}{used_by.get('interpreter')}, {used_by.get('checkout')}); {why}."
    )
    return other


def _runs(pid: int | None) -> str:
    return f"process {pid}, " if pid else "not running, "


def _find_latest(home: Home) -> Home | None:
    """Return the home beside this one that this environment has used last; None if it has none."""
    ours = [each for each in home.beside() if not difference(each.address(), identity())]
    return max(ours, key=lambda each: (each.running(), each.last_start()), default=None)
