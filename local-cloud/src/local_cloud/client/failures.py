"""The failures that can be rehearsed, by name: what each one is, and how to fix it.

The message that a cloud gives for one is in that cloud's `failure_messages.py`, with its source
and date.
"""

from __future__ import annotations

from dataclasses import dataclass

SPOT_STOP = "spot stop"  # is rehearsed at an epoch of a job's log: engine/rehearsals/spot_stop.py


@dataclass(frozen=True)
class Failure:
    """A failure that people meet on the real services."""

    what: str  # happens
    meets: str  # what can meet it
    fix: str


JOB, STUDY, DEPLOYMENT = "job", "tuning job", "deployment"

NO_QUOTA = "no quota"
ROLE = "role not assumable"
IMAGE = "image retired"
REGION = "bucket in another region"
MEMORY = "out of memory"
LOST_WORKER = "lost worker"
SLOW = "slow provisioning"
WRONG_METRIC = "wrong metric tag"
NEVER_HEALTHY = "endpoint never healthy"

FAILURES = {
    NO_QUOTA: Failure(
        "Your account may not use that many machines or GPUs.",
        JOB,
        "Ask for a higher quota, or send the job to a machine type for which you have one.",
    ),
    ROLE: Failure(
        "The service may not assume the role, or act as the service account, of the job.",
        JOB,
        "Use a role whose trust policy names the service, or a service account that you may use.",
    ),
    IMAGE: Failure(
        "The container image no longer exists, or the job may not read it.",
        JOB,
        "Use an image that the service lists today, in the region of the job.",
    ),
    REGION: Failure(
        "The bucket is in another region than the job.",
        JOB,
        "Use a bucket in the job's region, or send the job to the bucket's region.",
    ),
    MEMORY: Failure(
        "The script needs more memory than the machine has.",
        JOB,
        "Use a machine with more memory, or smaller batches.",
    ),
    LOST_WORKER: Failure(
        "A machine of the job breaks down.",
        JOB,
        "Write checkpoints, and send the job again: it resumes from the newest one.",
    ),
    SLOW: Failure(
        "The machines take minutes to start.",
        JOB,
        "Nothing is wrong: wait, or try a small run on your own machine first.",
    ),
    WRONG_METRIC: Failure(
        "The script reports its metric under another name than the tuning job expects.",
        STUDY,
        "Make the names the same in the script and in the request, and try one trial first.",
    ),
    NEVER_HEALTHY: Failure(
        "The server in the container never answers the health check.",
        DEPLOYMENT,
        "Read the log of the container: does the server start, on the right port and path?",
    ),
}
