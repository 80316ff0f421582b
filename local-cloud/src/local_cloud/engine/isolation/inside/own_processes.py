"""Process numbers of a replica's own: it sees nobody else's processes, and leaves none behind.

Three processes take part. The first, which the server started and knows, is outside: it waits and
ends as the command ends. The second is number 1 inside: it collects what ends there, and the kernel
ends all that is left with it. The third becomes the command. When the server asks all of them to
end, number 1 waits for each process inside, which may have something to save.

Used inside a job's process with the standard library only.
"""

from __future__ import annotations

import os
import signal

import kernel

ASKING = 0.1  # seconds in which the server asks all the processes of a replica to end
# The first process is sent these with the command, and has to outlive it.
IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def fork_first() -> int:
    """Return in process number 1 of those of unshare(); the process outside never returns.

    Return the descriptor to which the status of the command goes.
    """
    status, told = os.pipe()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED)
    if pid := os.fork():
        os.close(told)
        _wait_outside(pid, status)
    kernel.end_with_parent(signal.SIGKILL)
    os.close(status)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return told


def _wait_outside(pid: int, status: int) -> None:
    """Wait for process number 1, and end as the command has ended."""
    for ignored in IGNORED:
        signal.signal(ignored, signal.SIG_IGN)
    _, own = os.waitpid(pid, 0)
    said = os.read(status, 16)
    exit_status = int(said) if said else own
    if os.WIFSIGNALED(exit_status):
        number = os.WTERMSIG(exit_status)
        kernel.leave_no_core()
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(exit_status))


def fork_command(told: int) -> None:
    """Return in the process that becomes the command; number 1 waits for it, and never returns."""
    # Kept, to be looked at when the command has ended.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    command = os.fork()
    if command == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(told)
        os.setsid()
        return
    status = _wait_for(command)
    os.write(told, str(status).encode())
    was_asked = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM
    if signal.sigtimedwait({signal.SIGTERM}, ASKING if was_asked else 0):
        _wait_for(None)
    os._exit(0)


def _wait_for(command: int | None) -> int:
    """Collect what ends, until this process does, whose status is returned; None: until all do."""
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:  # none is left
            return 0
        if pid == command:
            return status
