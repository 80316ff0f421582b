"""Amazon's side of the lesson: short functions whose bodies are the SDK calls to learn.

    from AWS_helpers import connect, upload, train
    connect()
    files = upload("runs/data/train_data.npz", "runs/data/val_data.npz")
    run = train({"train": files[0], "val": files[1], "epochs": 50})

Importing this package is light (standard library only); the SDKs load when a verb needs them.
"""

from AWS_helpers.cleaning import cleanup
from AWS_helpers.clusters import write_manifest
from AWS_helpers.costs import estimate_cost
from AWS_helpers.job_files import write_job
from AWS_helpers.jobs import train
from AWS_helpers.listing import cancel, list_jobs
from AWS_helpers.serving import deploy, predict, register
from AWS_helpers.session import connect
from AWS_helpers.storage import upload
from AWS_helpers.tuning import tune
from AWS_helpers.vm import train_on_vm
from AWS_helpers.waiting import wait

__all__ = [
    "cancel",
    "cleanup",
    "connect",
    "deploy",
    "estimate_cost",
    "list_jobs",
    "predict",
    "register",
    "train",
    "train_on_vm",
    "tune",
    "upload",
    "wait",
    "write_job",
    "write_manifest",
]


def __dir__() -> list[str]:
    """Return the verbs, for completion in a notebook."""
    return __all__
