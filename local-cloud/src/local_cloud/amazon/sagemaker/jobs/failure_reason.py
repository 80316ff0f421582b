"""Why a job failed, in one text, as the service tells it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from local_cloud.amazon.sagemaker.jobs import failure_messages
from local_cloud.engine.jobs.attempt_runner import AGAIN
from local_cloud.engine.logs import job_files
from local_cloud.engine.spec import Outcome
from local_cloud.store import interruption

WINDOW = 1 << 20  # bytes at the end of a log that are searched for the reason
MOST = 1024  # characters of a FailureReason, and of output/failure that are read

# From here on a log tells of the launcher's end, no more of the script's.
LAUNCHERS = re.compile(
    r"Command failed with exit code \d+\. Traceback:|\++ handle_error\b"
    r"|[EW]\d{4} [\d:.]+ .*torch/distributed/|Traceback .*\bat 0x|=====+$"
)
OURS = "local cloud: "  # so begin the lines that stand at the head of every log
# What the SDK's drivers write into output/failure, for want of anything better.
OF_A_DRIVER = ("subprocess.CalledProcessError", "Training Execution failed")


def reason(outcome: Outcome, said: str, log: Iterable[str], *, hidden: bytes = b"") -> str:
    """FailureReason: the kind of error, what is known of it, and the exit code.

    said: what /opt/ml/output/failure holds of the instance that failed (read); log: the last lines
    of its log, those of a WINDOW. hidden: a text that nobody is to read in them.
    """
    if outcome.reason == "lost":
        return _shorten("InternalServerError: We encountered an internal error. ", outcome.message)
    if outcome.reason == "machine":
        return failure_messages.INTERNAL
    if outcome.reason == "collect":
        return _shorten("ClientError: Artifact upload failed: ", outcome.message)
    if outcome.code is None:
        return _shorten("ClientError: ", outcome.message)
    # A container reports the signal that ended it as 128 and its number.
    code = outcome.code if outcome.code >= 0 else 128 - outcome.code
    if not said or any(sign in said for sign in OF_A_DRIVER):
        said = job_files.mask(own_words(log), hidden) or said
    return _shorten("AlgorithmError: ", said, f", exit code: {code}")


def own_words(log: Iterable[str]) -> str:
    """Return the last line that the script itself wrote, as far as that can be told.

    Where it only says that a program that it called has failed, that program's last line.
    """
    said = called = ""
    over = False
    for line in log:
        interruption.check()
        if line.startswith(AGAIN):  # what was said before did not end the job
            said, called, over = "", "", False
        over = over or bool(LAUNCHERS.match(line))
        if over or line.startswith(OURS):
            continue
        if line.startswith("Traceback "):
            called = said
        said = line.strip() or said
    return called if called and said.startswith(OF_A_DRIVER[0]) else said


def _shorten(before: str, text: str, after: str = "") -> str:
    return before + text.strip()[: MOST - len(before) - len(after)] + after


def read(folder: Path, host: str, name: str, *, hidden: bytes) -> str:
    """Return the beginning of a file that a script may have left; "" if there is none.

    folder: the job's; name: the file's path below the host's /opt/ml. hidden: as in reason().
    """
    below = f"{host}/ml/{name}"
    return job_files.read(folder, below, most=MOST, hidden=hidden).strip()
