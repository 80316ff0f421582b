"""One replica: its folders, its environment, its process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from pathlib import Path
from typing import BinaryIO

from local_cloud.engine import system
from local_cloud.engine.environments import image_files
from local_cloud.engine.environments.environments import Environments
from local_cloud.engine.isolation import mounts
from local_cloud.engine.isolation.network import Entered
from local_cloud.engine.jobs import control_groups, job_files, shell_line, warm_start
from local_cloud.engine.jobs.fork_server import Forked, ForkServer
from local_cloud.engine.spec import EngineError, JobContext, Replica

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# A socket's path may have 103 bytes (macOS; Linux: 107), and multiprocessing makes sockets with
# names of 32 below TMPDIR.
LONGEST = 70
OURS = "local cloud: "  # so begin the lines that are not the program's
# Which of the processor's instructions PyTorch and the libraries of linear algebra use, and with
# them how sums are rounded: the server's own setting holds for jobs too (tests/within.py).
INSTRUCTIONS = (
    *("ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA"),
    *("NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE"),
)


class NotStarted(EngineError):
    """A replica's command cannot be run."""


@dataclass(frozen=True)
class ReplicaContext:
    """What every replica of a job gets."""

    folder: Path  # the job's
    pythons: Environments  # what it runs Python in
    threads: int
    gpus: tuple[int, ...]
    marks: Mapping[str, str]  # environment entries by which its processes are found
    fork_server: ForkServer  # forks replicas that are to start in a moment
    hidden: bytes = b""  # what nobody is to read in a log

    def of_job(self, port: Callable[[], int]) -> JobContext:
        """Return what the job has of this machine; `port` takes a free loopback port for it."""
        pythons = self.pythons
        return JobContext(self.folder, self.threads, self.gpus, port, pythons.install, pythons.base)


@dataclass(frozen=True)
class Started:
    """A replica's process, which leads its group and its session, and what to clear away."""

    process: subprocess.Popen[bytes] | Forked
    temporary: Path


def environment(replica: Replica, context: ReplicaContext, temporary: Path) -> dict[str, str]:
    """Return the whole environment of a replica: of the server's own, nothing but INSTRUCTIONS."""
    own = context.folder / replica.name
    python = context.pythons.of(replica.image)
    path = (python.scripts, *python.base.commands, SYSTEM_PATH)
    return {
        "PATH": os.pathsep.join(map(str, path)),
        "HOME": str(own / ".home"),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": str(context.threads),
        "GLOO_SOCKET_IFNAME": system.LOOPBACK,
        "CUDA_VISIBLE_DEVICES": ",".join(map(str, context.gpus)),
        **{name: os.environ[name] for name in INSTRUCTIONS if os.environ.get(name)},
        **replica.environment,
        **python.variables(),
        **context.marks,
    }


def starts_warm(replica: Replica, context: ReplicaContext) -> bool:
    """Return whether a replica is to be forked from a process that has imported torch."""
    folder = replica.folder or context.folder / replica.name
    return warm_start.suits(replica, folder, context.pythons.of(replica.image))


def log_path(job_folder: Path, name: str) -> Path:
    """Return the file into which a replica writes its output and its errors."""
    return job_folder / f"{name}.log"


def temporary_folder(own: Path) -> Path:
    """Return a new TMPDIR.

    It is below the replica's folder, or the system's when that path is too long.
    """
    folder = own / ".tmp"
    if len(os.fsencode(folder)) > LONGEST:
        return Path(tempfile.mkdtemp(prefix="lc-"))
    folder.mkdir(exist_ok=True)
    return folder


def start(
    replica: Replica,
    notes: Sequence[str],
    context: ReplicaContext,
    *,
    network: Entered | None = None,
) -> Started:
    """Start a replica as a session of its own, writing straight into its log.

    The notes come first, a line each. The log then goes on when the server ends. NotStarted:
    there is no such command or folder, or a word that no process can be given; the log says which.
    network: where a replica runs that is not to share this machine's.
    """
    own = context.folder / replica.name
    if network:
        variables = {**network.variables, **replica.environment}
        # Its name may stand for an address that the network does not have.
        hosts = (*replica.hosts, socket.gethostname())
        replica = replace(replica, environment=variables, hosts=hosts)
    if replica.command[:1] == (sys.executable,):  # the server's stands for the job's
        python = str(context.pythons.of(replica.image).python)
        replica = replace(replica, command=(python, *replica.command[1:]))
    for folder in (own, own / ".home"):
        folder.mkdir(parents=True, exist_ok=True)
    if contents := context.pythons.base(replica.image).contents:
        replica = image_files.place_files(replica, contents, own)
    temporary = temporary_folder(own)
    group = control_groups.make(context.marks)
    with job_files.open_log(log_path(context.folder, replica.name), "ab") as log:
        log.write("".join(f"{note}\n" for note in notes).encode())
        log.flush()
        try:
            unchanged = context.pythons.base(replica.image).unchanged
            process = _fork(
                replica, context, temporary=temporary, log=log, network=network, group=group
            ) or _spawn(
                mounts.with_mounts(replica, unchanged, group=group) if replica.mounts else replica,
                context,
                temporary=temporary,
                log=log,
                network=network,
            )
        except (OSError, ValueError, IndexError) as problem:
            log.write(f"The replica cannot be started: {problem}\n".encode(errors="replace"))
            raise NotStarted(str(problem)) from problem
    control_groups.add(process.pid, group)
    return Started(process, temporary)


def _spawn(
    replica: Replica,
    context: ReplicaContext,
    *,
    temporary: Path,
    log: BinaryIO,
    network: Entered | None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        network.inside(replica.command) if network else replica.command,
        cwd=os.fspath(replica.folder or context.folder / replica.name),
        env=environment(replica, context, temporary),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=network.fds if network else (),
    )


def _fork(
    replica: Replica,
    context: ReplicaContext,
    *,
    temporary: Path,
    log: BinaryIO,
    network: Entered | None,
    group: Path | None,
) -> Forked | None:
    """Return the replica as a process that is forked, if it starts warm and can."""
    python = context.pythons.of(replica.image)
    if not replica.warm:
        return None
    places = {path: str(folder) for path, folder in replica.mounts.items()}
    if places and not mounts.available():
        replica, places = mounts.with_mounts(replica, ()), {}
    folder = os.fspath(replica.folder or context.folder / replica.name)
    variables = environment(replica, context, temporary)
    line = shell_line.parse(replica.command)
    try:
        return context.fork_server.fork(
            line.program if line else replica.command,
            variables,
            first=line.first if line else "",
            folder=folder,
            mounts=places,
            read_only=python.base.unchanged,
            log=log.fileno(),
            hosts=replica.hosts,
            network=network.fds if network else (),
            group=str(group or ""),
        )
    except OSError:
        return None


def last_lines(
    log: Path, count: int = 10, most: int = 8192, *, hidden: bytes = b""
) -> tuple[str, ...]:
    """Return the last lines of a log, of its last `most` bytes; none if it cannot be read.

    Ours, with which it begins, are there only if there are no others. hidden: as job_files.read.
    """
    below = f"{log.parent.name}/{log.name}"
    text = job_files.read(log.parent.parent, below, most=most, hidden=hidden, end=True)
    lines = [line for line in text.splitlines() if line.strip()]
    programs = [*dropwhile(lambda line: line.startswith(OURS), lines)]
    return tuple((programs or lines)[-count:])
