"""A job prints gigabytes, with the secret in them, while clients read its log."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from local_cloud.json_types import Json
from testing.tally import Tally
from tests.torture.rig import Rig

RECORDS = 6000  # 3 GB in a whole run
FILLER = (b"x" * 99 + b"\n") * 5000  # follows each record
RECORD = b"record 0"  # so it begins
HEAD = b"record %08d "  # and the secret

# Writes each secret in two pieces: the search may look at the log between them.
CODE = f"""
import os, sys
from urllib.parse import urlsplit
secret = urlsplit(os.environ["STORAGE_EMULATOR_HOST"]).path.split("/")[1].encode()
filler = {FILLER[:100]!r} * {len(FILLER) // 100}
def write(content):
    while content:
        content = content[os.write(1, content):]
for number in range(int(sys.argv[1])):
    cut = number % len(secret)
    write(({HEAD!r} % number) + secret[:cut])
    write(secret[cut:] + b"\\n" + filler)
"""


def run(folder: Path, seconds: float) -> Tally:
    """Print 3 GB to one job of each cloud, or as much as there is time and room for."""
    tally = Tally("log flood")
    count = min(RECORDS, int(RECORDS * seconds / 30))
    if shutil.disk_usage(folder).free < 3 * count * len(FILLER):
        tally.skipped = "the disk has no room for the flood"
        return tally
    with Rig(folder / "log-flood", tally) as rig:
        command = [*rig.store_program("flood.py", CODE), str(count)]
        tally.done = f"{count * len(FILLER) / 1e9:.2g} GB of log in each cloud"
        for job, read in ((rig.train("flood", command), _amazon), (rig.send(command), _google)):
            stopped = threading.Event()
            reader = threading.Thread(target=_read, args=(rig, read, job, stopped, tally))
            reader.start()
            state = rig.wait(job, 60 + 10 * seconds)
            stopped.set()
            reader.join()
            if state == "JOB_STATE_SUCCEEDED":
                _compare(rig, job, count, tally)
            else:
                tally.breaks(f"{job}: {state}: {rig.end_of_log(job)!r}")
    return tally


def _read(
    rig: Rig,
    read: Callable[[Rig, str], list[bytes]],
    job: str,
    stopped: threading.Event,
    tally: Tally,
) -> None:
    """Read the log as clients do, again and again; the secret is in no answer.

    An answer counts if it has a record, in which the secret could be.
    """
    secret = rig.home.secret().encode()
    records = 0
    ended = False
    while not ended:
        ended = stopped.wait(0.2)  # and then read once more
        try:
            answers = read(rig, job)
        except OSError as problem:
            tally.breaks(f"reading the log: {problem}")
            continue
        for answer in answers:
            if secret in answer:
                tally.lets_in("the secret is in what a reader of the log gets")
            elif RECORD in answer:
                tally.survives()
                records += 1
    tally.check(records > 0, f"{job}: no reader of the log has got a record")


def _amazon(rig: Rig, job: str) -> list[bytes]:
    """The end and the beginning of the log, from CloudWatch Logs."""
    group = {"logGroupName": "/aws/sagemaker/TrainingJobs"}
    _, answer = _logs(rig, "DescribeLogStreams", group | {"logStreamNamePrefix": job})
    streams = json.loads(answer).get("logStreams", [])
    answers = []
    for stream in streams:
        for head in (False, True):
            asked = group | {"logStreamName": stream["logStreamName"], "startFromHead": head}
            answers.append(_answered(_logs(rig, "GetLogEvents", asked)))
    return answers


def _logs(rig: Rig, operation: str, body: Json) -> tuple[int, bytes]:
    return rig.ask("POST", "/aws/", body, **{"X-Amz-Target": f"Logs_20140328.{operation}"})


def _google(rig: Rig, job: str) -> list[bytes]:
    """The end and the beginning of the log, from Cloud Logging."""
    ours = f'resource.labels.job_id="{job.rpartition("/")[2]}"'
    asked = {"resourceNames": ["projects/torture"], "filter": ours, "pageSize": 100}
    return [
        _answered(rig.ask("POST", "/v2/entries:list", asked | {"orderBy": f"timestamp {order}"}))
        for order in ("asc", "desc")
    ]


def _answered(answer: tuple[int, bytes]) -> bytes:
    status, body = answer
    if status != 200:
        raise OSError(f"{status} {body[:300]!r}")
    return body


def _compare(rig: Rig, job: str, count: int, tally: Tally) -> None:
    """Every record is there, in order, masked."""
    (path,) = (rig.home.data / "jobs" / job.rpartition("/")[2]).glob("*.log")
    secret = rig.home.secret().encode()
    masked = b"SECRET".ljust(len(secret), b"*")
    with path.open("rb") as log:
        start = log.read(1 << 16).find(HEAD % 0)
        log.seek(max(0, start))
        for number in range(count):
            wanted = (HEAD % number) + masked + b"\n" + FILLER
            text = log.read(len(wanted))
            if text == wanted:
                tally.survives()
            elif secret in text:
                tally.lets_in(f"{job}: the secret is in record {number} of the log")
            else:
                tally.loses(f"{job}: record {number} of the log is {text[:80]!r} ...")
                return
        rest = log.read(1 << 16)
    tally.check(not rest, f"{job}: more is in the log than was written: {rest[:80]!r}")
