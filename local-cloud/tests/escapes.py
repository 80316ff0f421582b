"""A process that tries to outlive its job. It prints its id, and 0 if it has left its root."""

# It leaves its session, its environment and its mounts, and goes to another root; then it sleeps.
ESCAPES = """
import ctypes, os
os.chdir('/')
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        libc = ctypes.CDLL(None)
        ids = {"uid_map": os.getuid(), "gid_map": os.getgid()}
        if libc.unshare(0x00020000) and libc.unshare(0x10020000) == 0:
            open("/proc/self/setgroups", "w").write("deny")
            for name, number in ids.items():
                with open(f"/proc/self/{name}", "w") as file: file.write(f"0 {number} 1")
        libc.mount(b"none", b"/", None, (1 << 18) | 16384, None)
        libc.mount(b"none", b"/mnt", b"tmpfs", 0, None)
        os.mkdir("/mnt/old")
        for name in ("bin", "lib", "lib64", "usr"):
            os.mkdir(f"/mnt/{name}")
            libc.mount(f"/{name}".encode(), f"/mnt/{name}".encode(), None, 4096 | 16384, None)
        left = libc.syscall(155, b"/mnt", b"/mnt/old")
        os.chdir("/")
        libc.umount2(b"/old", 2)
        os.write(write, f"{os.getpid()} {left}".encode())
        os.execve("/bin/sleep", ["sleep", "SECONDS"], {})
    os._exit(0)
print(os.read(read, 40).decode())
"""
