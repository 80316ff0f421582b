"""`python -m tests.torture [--minutes N] [PART …]`: treat a local cloud badly, and count.

Prints what goes wrong as it goes, and at the end a table: tried, survived, lost (acknowledged and
gone), let in (somebody who may not), and the longest time in which the server gave no answer while
it was to be up (the goal is under 1 s). The exit code is 1 unless all that was tried was survived.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

from local_cloud import LocalCloudError
from testing.tally import Tally, table

# Each with its share of the time; what a part needs to come to its end is on top.
PARTS = {
    "kills": 1.25,  # of ten minutes enough for 100 kills
    "load": 0.1,
    "requests": 0.1,
    "archives": 0.05,
    "outputs": 0.2,
    "tables": 0.1,
    "log_flood": 0.05,
    "looks": 0.1,
    "queries": 0.1,
    "machine": 0.05,
    "second_user": 0.1,
    "dead_server": 0.1,
}


def main() -> int:
    """Run the parts that the command line names; 1 if anything went wrong."""
    parser = argparse.ArgumentParser("python -m tests.torture", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--minutes", type=float, default=10.0, help="about how long (default: 10)")
    flags = parser.parse_args()
    if unknown := {*flags.parts} - {*PARTS}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    parts = [name for name in PARTS if name in flags.parts or not flags.parts]
    share = 60 * flags.minutes / sum(PARTS[name] for name in parts)
    tallies: list[Tally] = []
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    folder.chmod(0o755)  # a second user may look for what lies open
    try:
        for name in parts:
            print(f"{name} ...", flush=True)
            begun = time.monotonic()
            part = importlib.import_module(f"tests.torture.{name}")
            try:
                tallies.append(part.run(folder, share * PARTS[name]))
            except (OSError, LocalCloudError) as problem:
                tallies.append(broken := Tally(name))
                broken.breaks(f"it cannot go on: {problem}")
            print(f"  {time.monotonic() - begun:.0f} s", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(table(tallies))
    return int(not all(one.well for one in tallies))


if __name__ == "__main__":
    sys.exit(main())
