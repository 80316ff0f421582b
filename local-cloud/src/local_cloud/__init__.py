"""The local cloud: a stand-in on loopback that the real SDKs talk to and that really runs each job.

Importing this package is light (standard library only), and so is everything that a client needs:
it works from any environment, whichever SDKs are installed there.
"""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

from local_cloud.errors import LocalCloudError

if TYPE_CHECKING:
    from local_cloud.billing import prices as prices
    from local_cloud.client.activation import activate
    from local_cloud.client.bill import bill
    from local_cloud.client.control import console_link, reset, status, stop
    from local_cloud.client.rehearse import rehearse
    from local_cloud.engine.environments.archives import extract
    from local_cloud.engine.studies.importance import parameter_importance

BEGAN = time.time()  # when this process had imported nothing else of the package

__all__ = [
    "LocalCloudError",
    "activate",
    "bill",
    "console_link",
    "extract",
    "parameter_importance",
    "prices",
    "rehearse",
    "reset",
    "status",
    "stop",
]


VERBS = {
    "activate": "client.activation",
    "bill": "client.bill",
    "console_link": "client.control",
    "extract": "engine.environments.archives",
    "parameter_importance": "engine.studies.importance",
    "rehearse": "client.rehearse",
    "reset": "client.control",
    "status": "client.control",
    "stop": "client.control",
}


def __getattr__(name: str) -> Any:
    """Load the module of a function when it is used."""
    if name == "prices":
        return importlib.import_module(f"{__name__}.billing.prices")
    if name not in VERBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{VERBS[name]}"), name)
