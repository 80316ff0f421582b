"""Requests of the real SDKs, changed at random: no server error, and nobody else is let in."""

from __future__ import annotations

import os
import time
from pathlib import Path

import local_cloud
from tests.local_cloud.mutated import send_mutated
from tests.local_cloud.recorded import record
from tests.torture.rig import Rig
from tests.torture.tally import Tally

AT_A_TIME = 200


def run(folder: Path, seconds: float) -> Tally:
    """As many as there is time for, on a local cloud of their own."""
    tally, seed = Tally("mutated"), 0
    before = os.environ.copy()
    os.environ["LOCAL_CLOUD_HOME"] = str(folder / "mutated")
    os.environ.pop("LOCAL_CLOUD_VERTEX_URL", None)
    try:
        with Rig(folder / "mutated", tally):
            url = local_cloud.activate().url
            assert url
            recorded = record(url)
            end = time.monotonic() + seconds
            while seed == 0 or time.monotonic() < end:
                tried, let_in, errors = send_mutated(url, recorded, AT_A_TIME, seed)
                tally.survives(tried - let_in - len(errors))
                for line in errors:
                    tally.breaks(line)
                for _ in range(let_in):
                    tally.lets_in("a request without the secret, or of a foreign page, got through")
                seed += 1
    finally:
        os.environ.clear()
        os.environ.update(before)
        if "LOCAL_CLOUD_VERTEX_URL" in before:  # the SDKs have kept the address of this one
            local_cloud.activate()
    return tally
