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
from local_cloud.engine.environments import image_files, shell_line
from local_cloud.engine.environments.environments import Environments
from local_cloud.engine.isolation import mounts
from local_cloud.engine.isolation.network import Entered
from local_cloud.engine.isolation.roots import Isolation, Layout, Level
from local_cloud.engine.logs import job_files
from local_cloud.engine.processes import control_groups
from local_cloud.engine.spec import EngineError, JobContext, Plan, Replica
from local_cloud.engine.warm import warm_start
from local_cloud.engine.warm.warm_start import ForkServer

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# A socket's path may have 103 bytes (macOS; Linux: 107), and multiprocessing makes sockets with
# names of 32 below TMPDIR.
LONGEST = 70
LAYERS = ".layers"  # in the job's folder
OURS = "local cloud: "  # so begin the lines that are not the program's
# Which of the processor's instructions PyTorch and the libraries of linear algebra use, and with
# them how sums are rounded: the server's own setting holds for jobs too.
INSTRUCTIONS = (
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "ONEDNN_MAX_CPU_ISA",
    "NPY_DISABLE_CPU_FEATURES",
    "OPENBLAS_CORETYPE",
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
    isolation: Isolation  # what its processes may see and change of this machine
    hidden: bytes = b""  # what nobody is to read in a log

    def of_job(self, port: Callable[[], int]) -> JobContext:
        """Return what the job has of this machine; `port` takes a free loopback port for it."""
        pythons = self.pythons
        return JobContext(self.folder, self.threads, self.gpus, port, pythons.install, pythons.base)


@dataclass(frozen=True)
class Started:
    """A replica's process, which leads its group and its session, and what to clear away."""

    process: system.Process
    temporary: Path


@dataclass(frozen=True)
class Launch:
    """How a replica's process is started."""

    context: ReplicaContext
    log: BinaryIO
    network: Entered | None  # None: this machine's
    group: Path | None  # the control group that it joins
    temporary: str  # its TMPDIR
    layout: Layout | None  # None: it sees this machine as it is


def environment(replica: Replica, context: ReplicaContext, temporary: str) -> dict[str, str]:
    """Return the whole environment of a replica: of the server's own, nothing but INSTRUCTIONS."""
    own = context.folder / replica.name
    python = context.pythons.of(replica.image)
    path = (python.scripts, *python.base.commands, SYSTEM_PATH)
    return {
        "PATH": os.pathsep.join(map(str, path)),
        "HOME": str(own / ".home"),
        "TMPDIR": temporary,
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


def build_wheels(plan: Plan, context: ReplicaContext) -> None:
    """Build what replicas will install: each would do it anew, and could not keep it for others."""
    wanted = set[tuple[Path, str]]()
    for replica in plan.replicas:
        if line := shell_line.parse(replica.command):
            wanted.add((Path(mounts.rewrite(line.archive, replica.mounts)), replica.image))
    for archive, image in wanted:
        context.pythons.build_wheel(archive, image)


def log_path(job_folder: Path, name: str) -> Path:
    """Return the file into which a replica writes its output and its errors."""
    return job_folder / f"{name}.log"


def temporary_folder(own: Path, isolation: Isolation) -> Path:
    """Return a new folder for what goes when the replica ends: its layer, or its TMPDIR.

    A layer is beside the replica's folder, which the replica sees. A TMPDIR is below that, or the
    system's when that path is too long.
    """
    if isolation.level is not Level.UNPROTECTED:
        own.parent.joinpath(LAYERS).mkdir(mode=0o700, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f"{own.name}-", dir=own.parent / LAYERS))
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
    is_batch: bool = False,
) -> Started:
    """Start a replica as a session of its own, writing straight into its log.

    The notes come first, a line each. The log then goes on when the server ends. NotStarted:
    there is no such command or folder, or a word that no process can be given; the log says which.
    network: where a replica runs that is not to share this machine's. is_batch: whether it works on
    when another process wakes up (system.work_through).
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
    temporary = temporary_folder(own, context.isolation)
    layout = layout_of(replica, context, temporary, is_batch=is_batch)
    if layout is None:
        replica = mounts.rewritten(replica)
    group = control_groups.make(context.marks)
    with job_files.open_log(log_path(context.folder, replica.name), "ab") as log:
        log.write("".join(f"{note}\n" for note in notes).encode())
        log.flush()
        inside = "/tmp" if layout else str(temporary)
        launch = Launch(context, log, network, group, inside, layout)
        try:
            process = _fork(replica, launch) or _spawn(replica, launch)
        except (OSError, ValueError, IndexError) as problem:
            log.write(f"The replica cannot be started: {problem}\n".encode(errors="replace"))
            raise NotStarted(str(problem)) from problem
    control_groups.add(process.pid, group)
    if is_batch and layout is None:
        system.work_through(process.pid)
    return Started(process, temporary)


def layout_of(
    replica: Replica, context: ReplicaContext, layer: Path, *, is_batch: bool
) -> Layout | None:
    """Return what a replica sees of this machine; None: all, for there can be no mounts."""
    if context.isolation.level is Level.UNPROTECTED:
        return None
    own = context.folder / replica.name
    python = context.pythons.of(replica.image)
    base = python.base
    shared = {**replica.mounts, str(own): own}
    if context.isolation.level is Level.READ_ONLY:  # pip installs there
        shared[str(python.folder)] = python.folder
    return context.isolation.layout(
        layer,
        shown=[
            python.folder,
            base.python.parents[1],
            base.python.resolve().parents[1],
            *base.sites,
            *base.commands,
            *replica.reads,
        ],
        fixed=base.unchanged,
        shared=shared,
        hosts=replica.hosts,
        is_batch=is_batch,
    )


def _spawn(replica: Replica, launch: Launch) -> subprocess.Popen[bytes]:
    command, network, context = replica.command, launch.network, launch.context
    if launch.layout:
        command = launch.layout.inside(command, launch.group)
    return subprocess.Popen(
        network.inside(command) if network else command,
        cwd=os.fspath(replica.folder or context.folder / replica.name),
        env=environment(replica, context, launch.temporary),
        stdin=subprocess.DEVNULL,
        stdout=launch.log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=network.fds if network else (),
    )


def _fork(replica: Replica, launch: Launch) -> system.Process | None:
    """Return the replica as a process that is forked, if it starts warm and can."""
    if not replica.warm:
        return None
    context = launch.context
    line = shell_line.parse(replica.command)
    try:
        return context.fork_server.fork(
            line.program if line else replica.command,
            environment(replica, context, launch.temporary),
            first=line.first if line else "",
            folder=os.fspath(replica.folder or context.folder / replica.name),
            layout=launch.layout.document() if launch.layout else None,
            log=launch.log.fileno(),
            network=launch.network.fds if launch.network else (),
            group=str(launch.group or ""),
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
