"""The system calls by which a process gets a root, processes and permissions of its own.

Used inside a job's process with the standard library only: nothing of the local cloud is imported.
Each function raises OSError if the kernel does not allow it.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

# <linux/sched.h>, <linux/mount.h>, <sys/mount.h>, <linux/prctl.h>, <linux/capability.h>
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
MS_RDONLY, MS_NODEV, MS_REMOUNT, MS_BIND = 1, 4, 32, 4096
MS_REC, MS_PRIVATE = 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
CAPABILITY_VERSION = 0x20080522
# What a mount forbids already, as statvfs(3) says it and mount(2) has to be told it again: only
# root may drop one of these. NOSUID, NODEV, NOEXEC, NOATIME, NODIRATIME, RELATIME.
KEPT = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}
# <asm/unistd.h>: the C library has no function of this name
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "ppc64le": 203, "s390x": 217, "riscv64": 41}
MOUNT_SETATTR = 442  # on every processor, since Linux 5.12
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
# What root may do in a container of Docker's, without making devices and reading the network.
# CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, SYS_CHROOT,
# AUDIT_WRITE, SETFCAP.
CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29, 31)
ALL_USERS = ["0", "0", str(2**32 - 1)]  # user_namespaces(7): as /proc/self/uid_map says it
LAST_CAPABILITY = "/proc/sys/kernel/cap_last_cap"

libc = ctypes.CDLL(None, use_errno=True)
if sys.platform == "linux":
    libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]


def require_success(result: int, what: str) -> None:
    """Turn a system call's -1 into an OSError."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, *, flags: int, options: str = "") -> None:
    """mount(2)."""
    words = [os.fsencode(word) for word in (source, target, kind)]
    require_success(libc.mount(*words, flags, os.fsencode(options)), f"mount {target}")


def bind(source: str, target: str) -> None:
    """Show a folder or a file, with all that is mounted below it, at another path, which exists."""
    mount(source, target, "", flags=MS_BIND | MS_REC)


def make_read_only(target: str) -> None:
    """Let nothing at a mount, or at the mounts below it, be changed."""
    attributes = struct.pack("QQQQ", MS_RDONLY, 0, 0, 0)  # set, clear, propagation, user namespace
    result = libc.syscall(
        MOUNT_SETATTR, AT_FDCWD, os.fsencode(target), AT_RECURSIVE, attributes, len(attributes)
    )
    if result == -1:  # an older kernel: this mount alone
        flag = os.statvfs(target).f_flag
        kept = sum(flag_of_mount for said, flag_of_mount in KEPT.items() if flag & said)
        mount("none", target, "", flags=MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def unshare(*, processes: bool) -> bool:
    """Give this process its own mounts, and its children their own processes if asked for.

    Return whether it is in a user namespace then. A new one maps this user's own id to itself, so
    that files are his, inside and outside. Root goes without one: inside, other users' files would
    be closed to it. And a replica's private network may have brought one along.
    """
    wanted = CLONE_NEWNS | (CLONE_NEWPID if processes else 0)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(wanted) == -1:
        require_success(libc.unshare(wanted | CLONE_NEWUSER), "unshare")
        maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
        for name, text in maps.items():
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    mount("none", "/", "", flags=MS_PRIVATE | MS_REC)  # what follows is not to be seen outside
    with open("/proc/self/uid_map", encoding="ascii") as file:
        return file.read().split() != ALL_USERS


def change_root(root: str) -> None:
    """Make a mounted folder the root of this process's mounts, and let go of the one before."""
    old = f"{root}/.old-root"
    os.mkdir(old)
    number = PIVOT_ROOT[os.uname().machine]
    require_success(libc.syscall(number, os.fsencode(root), os.fsencode(old)), "pivot_root")
    os.chdir("/")
    require_success(libc.umount2(b"/.old-root", MNT_DETACH), "umount")
    os.rmdir("/.old-root")


def drop_capabilities(kept: tuple[int, ...]) -> None:
    """Give up, for good, what root may do and is not among these: mounts, modules, devices."""
    with open(LAST_CAPABILITY, encoding="ascii") as file:
        last = int(file.read())
    for each in set(range(last + 1)) - set(kept):
        require_success(libc.prctl(PR_CAPBSET_DROP, each, 0, 0, 0), "prctl")
    low, high = (sum(1 << each % 32 for each in kept if each // 32 == half) for half in (0, 1))
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    # Effective, permitted, inheritable: of the first 32 capabilities, then of the others.
    require_success(libc.capset(header, struct.pack("6I", low, low, 0, high, high, 0)), "capset")


def end_with_parent(signal: int) -> None:
    """Have the kernel send this signal to this process when its parent ends."""
    require_success(libc.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0), "prctl")


def leave_no_core() -> None:
    """Have the kernel write no image of this process's memory when a signal ends it."""
    require_success(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")
