"""The SDK's own drivers (version 3 sends them as the channel `sm_drivers`), fitted to loopback."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from local_cloud.amazon.sagemaker.instances.layout import Host
from local_cloud.engine.isolation import mounts, roots
from local_cloud.engine.spec import JobRefused
from local_cloud.engine.warm.warm_start import CLIENT
from local_cloud.store import trees

CHANNEL = "sm_drivers"
CODE = "code"
SCRIPTS = (".py", ".sh", ".json")
LARGEST_SCRIPT = 10_000_000  # bytes; larger files are data

# Lines of scripts/environment.py, which tells the job where the first host is and what it has.
ADDRESS = re.compile(r"^SM_MASTER_ADDR = .*$", re.MULTILINE)
PORT = re.compile(r"^SM_MASTER_PORT = .*$", re.MULTILINE)
GPUS = re.compile(r'^( *env_vars\["SM_NUM_GPUS"\] =).*$', re.MULTILINE)
SECRETS = re.compile(r"^SENSITIVE_KEYWORDS = \[", re.MULTILINE)
# In sm_train.sh, which does not expect a blank in the interpreter's path.
PYTHON = re.compile(r"^( *)\$SM_PYTHON_CMD ", re.MULTILINE)
# In common/utils.py: how the script is started. It may be forked (engine/warm/fork_client.py).
STARTING = re.compile(
    r"""^( *)process = subprocess.Popen\(
 *commands,
 *stdout=subprocess.PIPE,
 *stderr=subprocess.STDOUT,
 *\)""",
    re.MULTILINE,
)
STARTED = rf"""\1sys.path.append({str(CLIENT.parent)!r})
\1from {CLIENT.stem} import start
\1sys.path.pop()
\1process = start(commands)"""
# From here on the driver reads what the script prints.
READING = re.compile(r"^( *)with process\.stdout:", re.MULTILINE)


def are_in(host: Host) -> bool:
    """Return whether the drivers have been sent, and start a program as it is known here."""
    utilities = host.channel(CHANNEL) / "common" / "utils.py"
    return utilities.is_file() and CLIENT.stem in _read(utilities)


def fit(host: Host, port: int, gpus: int, *, places: Mapping[str, Path]) -> None:
    """Change the staged copy: the first host is on loopback at this port, with these GPUs.

    Where nothing is mounted, the mounts' paths (`places`) become the folders' own, in this copy
    and in that of the job's code.
    """
    folder = host.channel(CHANNEL)
    if (folder / "sm_train.sh").is_file() and "mpi_driver.py" in _read(folder / "sm_train.sh"):
        raise JobRefused("the MPI driver is not implemented in the local cloud; use Torchrun")
    for script, pattern, ours in (
        ("sm_train.sh", PYTHON, r'\1"$SM_PYTHON_CMD" '),
        ("scripts/environment.py", ADDRESS, 'SM_MASTER_ADDR = "127.0.0.1"'),
        ("scripts/environment.py", PORT, f"SM_MASTER_PORT = {port}"),
        # It would ask the machine's own tool, which knows nothing of what is this job's.
        ("scripts/environment.py", GPUS, rf"\1 {gpus}"),
        # It writes all variables to the log; the local cloud's address holds its secret.
        ("scripts/environment.py", SECRETS, 'SENSITIVE_KEYWORDS = ["ENDPOINT_URL", '),
        # The whole job is asked to end, the script too. A driver that ended first would lose the
        # script's last lines, and the script could not print any more.
        ("common/utils.py", STARTING, STARTED),
        (
            "common/utils.py",
            READING,
            r"\1import signal; signal.signal(signal.SIGTERM, lambda *_: None)\n\g<0>",
        ),
    ):
        path = folder / script
        if path.is_file():
            path.write_text(pattern.sub(ours, _read(path)), encoding="utf-8")
    if not roots.available():
        for each in (folder, host.channel(CODE)):
            rewrite_all(each, places)
    if (folder / "sm_train.sh").is_file():
        (folder / "sm_train.sh").chmod(0o755)


def rewrite_all(folder: Path, places: Mapping[str, Path]) -> None:
    """Put the folders' own paths in the place of the mounts', in all scripts of a folder."""
    for entry in trees.walk(folder):
        if entry.is_file and entry.facts.st_size <= LARGEST_SCRIPT:
            rewrite(Path(entry.path), places)


def rewrite(script: Path, places: Mapping[str, Path]) -> None:
    """Put the folders' own paths in the place of the mounts', in a script."""
    if script.suffix in SCRIPTS and script.is_file():
        try:
            text = script.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # what is no text names no path
            return
        script.write_text(mounts.rewrite(text, places), encoding="utf-8")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise JobRefused(f"channel {CHANNEL}: {path.name} is not text in UTF-8") from None
