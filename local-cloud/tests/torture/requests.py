"""Requests with something wrong, to everything that takes one: no server error, nobody let in.

They are those of the real SDKs, changed at random; requests to every declared method, made from its
schema; and the console's pages and forms.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import local_cloud
from testing.tally import Tally
from tests.console_requests import walk
from tests.declared_methods import declared
from tests.mutations import Count, send_mutated
from tests.recorded_requests import record
from tests.schema_requests import send_declared
from tests.torture.rig import Rig

AT_A_TIME = 200
FAULTS = 2  # kinds for each method in a round


def run(folder: Path, seconds: float) -> Tally:
    """As many as there is time for, on a local cloud of their own."""
    tally, seed = Tally("requests"), 0
    before = os.environ.copy()
    os.environ["LOCAL_CLOUD_HOME"] = str(folder / "requests")
    os.environ.pop("LOCAL_CLOUD_VERTEX_URL", None)
    try:
        with Rig(folder / "requests", tally) as rig:
            url = local_cloud.activate().url
            assert url
            recorded = record(url)
            methods = declared(folder / "declared")
            end = time.monotonic() + seconds
            while seed == 0 or time.monotonic() < end:
                _count(tally, send_mutated(url, recorded, AT_A_TIME, seed))
                _count(tally, send_declared(url, methods, seed, FAULTS))
                for sent, status in walk(rig.home, folder / "console", 1, seed):
                    tally.check(status < 500, f"{sent} -> {status}")
                seed += 1
    finally:
        os.environ.clear()
        os.environ.update(before)
        if "LOCAL_CLOUD_VERTEX_URL" in before:  # the SDKs have kept the address of this one
            local_cloud.activate()
    return tally


def _count(tally: Tally, counted: Count) -> None:
    tally.survives(counted.tried - counted.let_in - len(counted.server_errors))
    for problem in counted.server_errors:
        tally.breaks(problem)
    for _ in range(counted.let_in):
        tally.lets_in("a request without the secret, or of a foreign page, got through")
