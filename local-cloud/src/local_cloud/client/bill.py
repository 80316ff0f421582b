"""Ask the local cloud for its bill: what clients do. Standard library only."""

from __future__ import annotations

import http.client

from local_cloud.client import control
from local_cloud.client.bill_rows import Bill
from local_cloud.client.home import Home
from local_cloud.client.target import require_local
from local_cloud.errors import LocalCloudError

SECONDS = 60.0  # it lists every object


def bill(home: Home | None = None) -> Bill:
    """Return what everything would have cost on the real services until now, and what still does.

    It is what the same seconds and bytes cost there at list price. Prints as a table, and has
    `rows`, `leaks`, `dollars`. Starts the local cloud if need be. Raises LocalCloudError if
    the target is the cloud, where the service's own report is the bill.
    """
    require_local(
        "and the local cloud does not know what happens there: read the service's own billing"
        " report"
    )
    server = control.start(home) if home else control.in_use()
    try:
        return Bill.of(control.ask(server.port, f"/{server.home.secret()}/bill", seconds=SECONDS))
    except (OSError, ValueError, http.client.HTTPException) as problem:
        raise LocalCloudError(
            f"the local cloud that runs gives no bill ({problem}): `python -m local_cloud stop`,"
            " then start it again"
        ) from None
