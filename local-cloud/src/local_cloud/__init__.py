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
    from local_cloud.client.bill_rows import Bill
    from local_cloud.client.control import Status, console_link, reset, status, stop
    from local_cloud.client.rehearse import rehearse
    from local_cloud.client.target import target

BEGAN = time.time()  # when this process had imported nothing else of the package

# What users may import. The two classes are what the functions return, for type checkers.
__all__ = [
    "Bill",
    "LocalCloudError",
    "Status",
    "activate",
    "bill",
    "console_link",
    "prices",
    "rehearse",
    "reset",
    "status",
    "stop",
    "target",
]


FOUND_IN = {
    "Bill": "client.bill_rows",
    "Status": "client.control",
    "activate": "client.activation",
    "bill": "client.bill",
    "console_link": "client.control",
    "rehearse": "client.rehearse",
    "reset": "client.control",
    "status": "client.control",
    "stop": "client.control",
    "target": "client.target",
}


def __getattr__(name: str) -> Any:
    """Load the module of a name when it is used."""
    if name == "prices":
        return importlib.import_module(f"{__name__}.billing.prices")
    if name not in FOUND_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{FOUND_IN[name]}"), name)
