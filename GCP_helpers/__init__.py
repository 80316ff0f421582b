"""Google's side of the lesson: short functions whose bodies are the SDK calls to learn.

    from GCP_helpers import connect, upload, train
    connect()
    files = upload("runs/data/train_data.npz", "runs/data/val_data.npz")
    run = train({"train": files[0], "val": files[1], "epochs": 50})

Importing this package is light (standard library only); the SDKs load when a verb needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from GCP_helpers.cleaning import cleanup
    from GCP_helpers.clusters import write_manifest
    from GCP_helpers.costs import estimate_cost
    from GCP_helpers.job_files import write_job
    from GCP_helpers.jobs import cancel, list_jobs, train, wait
    from GCP_helpers.serving import deploy, predict, register
    from GCP_helpers.session import connect
    from GCP_helpers.storage import upload
    from GCP_helpers.tuning import tune
    from GCP_helpers.vm import train_on_vm

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

_HOMES = {
    "cleanup": "cleaning",
    "connect": "session",
    "deploy": "serving",
    "predict": "serving",
    "register": "serving",
    "estimate_cost": "costs",
    "train_on_vm": "vm",
    "tune": "tuning",
    "upload": "storage",
    "write_job": "job_files",
    "write_manifest": "clusters",
}


def __getattr__(name: str) -> Any:
    """Load the module behind a verb when the verb is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'GCP_helpers' has no attribute {name!r}")
    return getattr(import_module(f"GCP_helpers.{_HOMES.get(name, 'jobs')}"), name)


def __dir__() -> list[str]:
    """Return the verbs, for completion in a notebook."""
    return __all__
