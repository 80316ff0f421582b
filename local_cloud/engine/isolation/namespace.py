"""Become a command that sees folders at given paths: `namespace.py GROUP JSON … COMMAND …`.

Runs as a script with the standard library only (`python -I -S`), between fork and the command, in
the command's own process. GROUP: the folder of the control group that it joins, or nothing. JSON:
{"/gcs": "/folder", …}, a list of folders that the command may read and not change, and a list of
names that stand for loopback. The new root is a small file system in memory in which everything of
the old root is bound, and the folders besides: so neither need the path exist nor need the root be
writable. An unprivileged user gets a user namespace for this in which his own id is mapped to
itself, so that files are his, inside and outside.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import sys

# <linux/sched.h>, <linux/mount.h>, <sys/mount.h>
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
# What a mount forbids already, as statvfs(3) says it and mount(2) has to be told it again: only
# root may drop one of these. NOSUID, NODEV, NOEXEC, NOATIME, NODIRATIME, RELATIME.
KEPT = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}
# <asm/unistd.h>: the C library has no function of this name
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "ppc64le": 203, "s390x": 217, "riscv64": 41}

libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]

OLD = "/.old-root"
# The environment entries by which the processes of a job are found. They name the new root's
# source too, for a process may leave its environment behind more easily than its root.
MARKS = ("LOCAL_CLOUD_ENGINE", "LOCAL_CLOUD_RUN", "LOCAL_CLOUD_JOB")

Tree = dict[str, "Tree | str"]


def require_success(result: int, what: str) -> None:
    """Turn a system call's -1 into an OSError."""
    if result == -1:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: str, kind: str, *, flags: int, options: str = "") -> None:
    """mount(2)."""
    words = [os.fsencode(word) for word in (source, target, kind)]
    require_success(libc.mount(*words, flags, os.fsencode(options)), f"mount {target}")


def tree(mounts: dict[str, str]) -> Tree:
    """Return the mounts by path component: {"opt": {"ml": "/folder"}}."""
    root: Tree = {}
    for path, folder in mounts.items():
        *parents, last = [part for part in path.split("/") if part]
        here = root
        for part in parents:
            below = here.setdefault(part, {})
            if isinstance(below, str):
                raise OSError(f"one mount lies inside another: {path}")
            here = below
        here[last] = folder
    return root


def bind(source: str, target: str) -> None:
    """Show source, a folder or a file, at target too, which is made."""
    if stat.S_ISDIR(os.stat(source).st_mode):
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    mount(source, target, "", flags=MS_BIND | MS_REC)


def mirror(path: str, own: Tree) -> None:
    """Fill the folder at path with what the old root has there, and with our mounts over it."""
    entries = list(os.scandir(OLD + path)) if os.path.isdir(OLD + path) else []
    for entry in entries:
        if entry.name in own:
            continue
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), f"{path}/{entry.name}")
        else:
            bind(entry.path, f"{path}/{entry.name}")
    for name, below in own.items():
        if isinstance(below, str):
            bind(OLD + below, f"{path}/{name}")
        else:
            os.mkdir(f"{path}/{name}")
            mirror(f"{path}/{name}", below)


def own_namespace() -> None:
    """Give this process its own mounts, and if it is not root its own user namespace for that."""
    user, group = os.geteuid(), os.getegid()
    # Root goes without: inside one, other users' files would be closed to it.
    if libc.unshare(CLONE_NEWNS) == -1:
        require_success(libc.unshare(CLONE_NEWNS | CLONE_NEWUSER), "unshare")
        maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
        for name, text in maps.items():
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    mount("none", "/", "", flags=MS_PRIVATE | MS_REC)  # what follows is not to be seen outside


def protect(folder: str) -> None:
    """Let nothing below a folder be changed."""
    flags = os.statvfs(folder).f_flag
    kept = sum(flag for said, flag in KEPT.items() if flags & said)
    mount(folder, folder, "", flags=MS_BIND | MS_REC)
    mount("none", folder, "", flags=MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def name_loopback(names: list[str]) -> None:
    """Let these names stand for 127.0.0.1 in /etc/hosts, and give it one as an IPv6 address.

    torch's store asks for the name of the latter for its log, and would ask a DNS server elsewhere.
    """
    ours = f"127.0.0.1 {' '.join(['localhost', *names])}\n" if names else ""
    try:
        with open("/etc/hosts", encoding="utf-8", errors="surrogateescape") as file:
            hosts = file.read()
        with open("/.hosts", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{ours}{hosts}\n::ffff:127.0.0.1 loopback\n")
        mount("/.hosts", "/etc/hosts", "", flags=MS_BIND)
        os.unlink("/.hosts")
    except OSError:  # a machine without that file: nothing is lost but a name
        return


def join_group(folder: str) -> None:
    """Put this process, and what it will start, into a control group, if there is one."""
    try:
        if folder:
            with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")
    except OSError:  # the server tries it, too
        return


def enter(mounts: dict[str, str], read_only: list[str], hosts: list[str]) -> None:
    """Give this process a new root with everything of the old one, and the mounts."""
    here = os.getcwd()
    own_namespace()
    marks = "\n".join(f"{name}={os.environ[name]}" for name in MARKS if name in os.environ)
    # Any folder will do: the new root leaves it again at once, and what it covered is seen again.
    mount(marks, "/tmp", "tmpfs", flags=0, options="mode=755,size=1m")
    os.mkdir(f"/tmp{OLD}")
    number = PIVOT_ROOT[os.uname().machine]
    require_success(libc.syscall(number, b"/tmp", os.fsencode(f"/tmp{OLD}")), "pivot_root")
    os.chdir("/")
    mirror("", tree(mounts))
    require_success(libc.umount2(os.fsencode(OLD), MNT_DETACH), "umount")
    os.rmdir(OLD)
    for folder in read_only:
        protect(folder)
    name_loopback(hosts)
    # What a replica writes to / would be lost with it: better that it is told.
    mount("none", "/", "", flags=MS_REMOUNT | MS_BIND | MS_RDONLY)
    os.chdir(here)


def main() -> None:
    """Enter, then become the command; exit 127 (as a shell does) when it is not there."""
    _, group, places, read_only, hosts, *command = sys.argv
    join_group(group)
    enter(json.loads(places), json.loads(read_only), json.loads(hosts))
    try:
        os.execvp(command[0], command)
    except OSError as problem:
        print(f"{command[0]}: {problem.strerror}", file=sys.stderr)
        sys.exit(127)


if __name__ == "__main__":
    main()
