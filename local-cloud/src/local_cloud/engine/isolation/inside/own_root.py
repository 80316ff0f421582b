"""Give this process a root of its own, in which it harms nothing of the machine.

The machine's folders are shown there, and what is written goes into a layer of the replica's own
(overlayfs), or is refused where the layout says that there is no layer. Homes, and the folders of
the local cloud, are hidden but for what the layout names. /tmp, /run, /dev and /proc are new.

Used inside a job's process with the standard library only (launcher.py, warm/fork_process.py). An
unprivileged user gets a user namespace for it: he may add and replace files in WRITABLE, and
cannot write into files that belong to others.
"""

from __future__ import annotations

import os
import stat

import kernel

TYPE_CHECKING = False  # the module `typing` takes longer to import than all that is here
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    class Layout(TypedDict):
        """What a replica sees; made by roots.py."""

        layer: str  # its own folder on the disk: what it writes, and its root
        has_layer: bool  # whether it may write; else the machine's folders are read-only
        has_processes: bool  # whether it has process numbers of its own
        hidden: list[str]  # folders that are empty there
        shown: list[str]  # folders and files that are shown although they are in hidden ones
        fixed: list[str]  # folders that are shown, and cannot be changed
        shared: dict[str, str]  # path -> a folder or file of the machine, which it may change
        hosts: list[str]  # names of loopback
        is_batch: bool  # whether it works on when another replica wakes up


NEW = ("dev", "proc", "run", "sys", "tmp")  # folders of the root that are not the machine's
# Where programs keep what they need: shown even if the local cloud's folder is inside.
SYSTEM = ("/etc", "/lib", "/opt", "/usr", "/var")
# Folders that belong to root, and into which programs in containers write.
WRITABLE = (
    "/etc",
    "/opt",
    "/srv",
    "/usr",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/etc",
    "/usr/local/include",
    "/usr/local/lib",
    "/usr/local/sbin",
    "/usr/local/share",
    "/usr/local/src",
    "/usr/src",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/opt",
)
DEVICES = ("full", "fuse", "null", "random", "tty", "urandom", "zero")
GPUS = ("accel", "dri", "kfd", "nvidia", "vfio")  # so begin the names of their nodes
LARGEST_COPY = 1 << 20  # bytes
LINKS = {
    "fd": "/proc/self/fd",
    "ptmx": "pts/ptmx",
    "stderr": "/proc/self/fd/2",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
}
SETTINGS = ("bus", "fs", "irq", "sys", "sysrq-trigger")  # of the kernel's, in /proc
# The environment entries by which the processes of a job are found. They name the source of /dev
# too, for a process may leave its environment behind more easily than its root.
MARKS = ("LOCAL_CLOUD_ENGINE", "LOCAL_CLOUD_RUN", "LOCAL_CLOUD_JOB")
# What mount(2) and lowerdir= understand in another way.
ESCAPED = str.maketrans({each: f"\\{each}" for each in "\\:,"})


class Root:
    """The root of a replica while it is built."""

    def __init__(self, layout: Layout, *, has_own_users: bool) -> None:
        """has_own_users: whether this process is in a user namespace of its own."""
        self._layout, self._has_own_users = layout, has_own_users
        self._layer = layout["layer"]
        self.path = f"{self._layer}/root"
        self._mount_points = [*mount_points()]  # of the machine
        self._shown: list[str] = []  # the machine's folders that can be seen
        # Nothing can be laid over a folder that holds the layer, nor by an ordinary user over one
        # in which something is mounted: its entries are shown one by one. And where the rest is
        # read-only, the folders that lead to a mount are made, for they may be missing.
        self._opened = [self._layer]
        if not layout["has_layer"]:
            self._opened += layout["shared"]
        elif has_own_users:
            self._opened += self._mount_points

    def build(self) -> None:
        """Fill the root; change_root() comes after that."""
        for name in ("root", "upper", "work"):
            os.makedirs(f"{self._layer}/{name}")
        kernel.mount(self.path, self.path, "", flags=kernel.MS_BIND)
        for entry in os.scandir("/"):
            if entry.name not in NEW:
                self._show(f"/{entry.name}")
        self._show_mounts_below()
        self._hide()
        self._make_temporary_folders()
        self._make_devices()
        self._make_proc()
        os.mkdir(f"{self.path}/sys")
        self._bind("/sys", read_only=True)
        shown, fixed = self._layout["shown"], self._layout["fixed"]
        shared = self._layout["shared"]
        for path in sorted(
            {*shown, *fixed, *shared}, key=len
        ):  # what is inside another comes later
            if path in shared:
                self._share(path, shared[path])
            elif path in fixed:
                self._share(path, path)
                kernel.make_read_only(self.path + path)
            else:
                self._show_hidden(path)
        self._name_hosts()

    # ---- the machine's folders -------------------------------------------------------------------
    def _show(self, path: str) -> None:
        """Show what the machine has at a path, unless it is hidden."""
        target = self.path + path
        if os.path.islink(path):
            os.symlink(os.readlink(path), target)
        elif not os.path.isdir(path):
            self._show_file(path, target)
        elif path in (*self._layout["hidden"], self._layer):
            os.mkdir(target)
        elif self._is_opened(path):
            os.mkdir(target)
            for name in self._names_in_opened(path):
                self._show(f"{path}/{name}")
        else:
            os.mkdir(target)
            self._show_folder(path)

    def _show_file(self, path: str, target: str) -> None:
        """Show a file: a copy, which may be changed, unless it is large or closed to this user."""
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode):  # a pipe or a socket leads to a process of the machine
            return
        try:
            if self._layout["has_layer"] and facts.st_size <= LARGEST_COPY:
                with open(path, "rb") as source, open(target, "wb") as copy:
                    copy.write(source.read())
                os.chmod(target, stat.S_IMODE(facts.st_mode))
                return
        except PermissionError:
            pass
        _touch(target)
        self._bind(path, read_only=True)

    def _is_opened(self, path: str) -> bool:
        """Return whether a folder leads to something that has to be made in it."""
        return any(each.startswith(f"{path}/") for each in self._opened)

    def _names_in_opened(self, path: str) -> list[str]:
        """Return what is shown of a folder that is opened: nothing beside the local cloud's own."""
        leads_to_layer = self._layer.startswith(f"{path}/")
        is_system = f"{path}/".startswith(tuple(f"{each}/" for each in SYSTEM))
        return [] if leads_to_layer and not is_system else os.listdir(path)

    def _show_folder(self, path: str) -> None:
        """Show a folder of the machine's at its path, which exists in the root."""
        self._shown.append(path)
        if not self._layout["has_layer"]:
            self._bind(path, read_only=True)
            return
        try:
            self._overlay(path)
        except OSError:  # a file system over which nothing can be laid
            self._bind(path, read_only=True)

    def _overlay(self, path: str) -> None:
        """Show a folder with a layer over it, into which all goes that is written there."""
        number = len(self._shown)
        upper, work = f"{self._layer}/upper/{number}", f"{self._layer}/work/{number}"
        os.mkdir(upper)
        os.mkdir(work)
        options = "volatile"  # what is in the layer need not survive a crash
        if self._has_own_users:
            options += ",userxattr"
            self._make_writable(path, upper)
        else:
            like = os.stat(path)
            os.chown(upper, like.st_uid, like.st_gid)
            os.chmod(upper, stat.S_IMODE(like.st_mode))
        for name, folder in (("lowerdir", path), ("upperdir", upper), ("workdir", work)):
            options += f",{name}={folder.translate(ESCAPED)}"
        kernel.mount("overlay", self.path + path, "overlay", flags=kernel.MS_NODEV, options=options)

    def _make_writable(self, path: str, upper: str) -> None:
        """Have the folders below a path belong to this user in which files are to be made."""
        parents = (os.path.dirname(each) for each in self._layout["shared"])
        for folder in (*WRITABLE, *parents):
            inside = f"{folder}/".startswith(f"{path}/")
            if inside and os.path.realpath(folder) == folder:
                os.makedirs(upper + folder.removeprefix(path), exist_ok=True)

    def _show_mounts_below(self) -> None:
        """Show the file systems, and the files, that are mounted inside the folders that are shown.

        One that cannot be shown is left out: a mounted file may have been deleted meanwhile.
        """
        if not self._layout["has_layer"]:  # these are shown with the folders
            return
        for point in self._mount_points:
            if self._is_visible(point) and point not in self._shown:
                try:
                    self._show_mount(point)
                except OSError:
                    continue

    def _show_mount(self, point: str) -> None:
        target = self.path + point
        if os.path.isdir(target) and os.path.isdir(point):
            self._show_folder(point)
        elif os.path.isfile(target) and os.path.isfile(point):
            os.unlink(target)
            self._show_file(point, target)

    def _is_visible(self, path: str) -> bool:
        """Return whether a path is in a folder that is shown, and in none that is hidden."""
        is_shown = any(f"{path}/".startswith(f"{each}/") for each in self._shown)
        is_hidden = any(f"{path}/".startswith(f"{each}/") for each in self._layout["hidden"])
        return is_shown and not is_hidden

    def _hide(self) -> None:
        """Lay an empty folder over each one that is hidden and would be seen."""
        empty = f"{self._layer}/empty"
        os.mkdir(empty)
        for path in self._layout["hidden"]:
            is_seen = any(f"{path}/".startswith(f"{each}/") for each in self._shown)
            if is_seen and os.path.isdir(self.path + path):
                kernel.bind(empty, self.path + path)

    # ---- what the replica needs ------------------------------------------------------------------
    def _show_hidden(self, path: str) -> None:
        """Show something that lies in a hidden folder, or in one that is new."""
        if self._is_visible(path) or not os.path.exists(path):
            return
        target = self.path + path
        if os.path.isdir(path):
            os.makedirs(target, exist_ok=True)
            self._show_folder(path)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _touch(target)
            self._bind(path, read_only=True)

    def _share(self, path: str, folder: str) -> None:
        """Show a folder or a file of the machine's, which the replica may change, at a path."""
        target = self.path + path.rstrip("/")
        if os.path.isdir(folder):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _touch(target)
        kernel.bind(folder, target)

    def _bind(self, path: str, *, read_only: bool) -> None:
        kernel.bind(path, self.path + path)
        if read_only:
            kernel.make_read_only(self.path + path)

    # ---- what is new -----------------------------------------------------------------------------
    def _make_temporary_folders(self) -> None:
        """Make /tmp, /var/tmp and /run, which nobody else sees."""
        for name in ("run", "tmp"):
            os.mkdir(f"{self.path}/{name}")
        os.chmod(f"{self.path}/tmp", 0o1777)
        if os.path.isdir(f"{self.path}/var/tmp") and not os.path.islink(f"{self.path}/var/tmp"):
            os.mkdir(f"{self._layer}/var-tmp")
            os.chmod(f"{self._layer}/var-tmp", 0o1777)
            kernel.bind(f"{self._layer}/var-tmp", f"{self.path}/var/tmp")
        # Many systems keep there how hosts are found.
        resolver = os.path.realpath("/etc/resolv.conf")
        if resolver.startswith("/run/") and os.path.isfile(resolver):
            os.makedirs(os.path.dirname(self.path + resolver), exist_ok=True)
            with open(resolver, "rb") as source, open(self.path + resolver, "wb") as target:
                target.write(source.read())

    def _make_devices(self) -> None:
        """Make /dev with what a container has, and the GPUs; the nodes themselves stay as is."""
        dev = f"{self.path}/dev"
        os.mkdir(dev)
        marks = "\n".join(f"{name}={os.environ[name]}" for name in MARKS if name in os.environ)
        kernel.mount(marks or "dev", dev, "tmpfs", flags=0, options="mode=755,size=64k")
        for entry in os.scandir("/dev"):
            if entry.name in DEVICES or entry.name.startswith(GPUS):
                if entry.is_dir(follow_symlinks=False):
                    os.mkdir(f"{dev}/{entry.name}")
                else:
                    _touch(f"{dev}/{entry.name}")
                self._bind(entry.path, read_only=True)
        for name, target in LINKS.items():
            os.symlink(target, f"{dev}/{name}")
        for name, kind, options in (
            ("pts", "devpts", "newinstance,ptmxmode=0666,mode=620"),
            ("shm", "tmpfs", "mode=1777"),
        ):
            os.mkdir(f"{dev}/{name}")
            kernel.mount(name, f"{dev}/{name}", kind, flags=0, options=options)

    def _make_proc(self) -> None:
        """Make /proc, which shows the replica's own processes if it has its own."""
        proc = f"{self.path}/proc"
        os.mkdir(proc)
        if not self._layout["has_processes"]:
            kernel.bind("/proc", proc)
            return
        kernel.mount("proc", proc, "proc", flags=2 | 4 | 8)  # NOSUID, NODEV, NOEXEC
        if not self._has_own_users:  # root owns the kernel's settings, whatever else it may do
            for name in SETTINGS:
                if os.path.exists(f"{proc}/{name}"):
                    kernel.bind(f"{proc}/{name}", f"{proc}/{name}")
                    kernel.make_read_only(f"{proc}/{name}")

    def _name_hosts(self) -> None:
        """Let names stand for 127.0.0.1 in /etc/hosts, and give it one as an IPv6 address.

        torch's store asks for the name of the latter for its log, and would ask a DNS server
        elsewhere.
        """
        if not os.path.isfile(f"{self.path}/etc/hosts"):  # nothing is lost but a name
            return
        names = self._layout["hosts"]
        ours = f"127.0.0.1 {' '.join(['localhost', *names])}\n" if names else ""
        with open("/etc/hosts", encoding="utf-8", errors="surrogateescape") as file:
            hosts = file.read()
        own = f"{self._layer}/hosts"
        with open(own, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{ours}{hosts}\n::ffff:127.0.0.1 loopback\n")
        kernel.bind(own, f"{self.path}/etc/hosts")


def mount_points() -> Iterator[str]:
    """Yield where file systems are mounted, but for those of the kernel's own."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            # proc(5): "id parent device root mount-point …", blanks and line ends in octal
            point = line.split(" ")[4]
            for number in (0o40, 0o11, 0o12, 0o134):
                point = point.replace(f"\\{number:03o}", chr(number))
            if point.split("/")[1] not in NEW:
                yield point


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
