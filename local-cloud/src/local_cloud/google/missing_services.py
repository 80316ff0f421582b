"""Google's services that the local cloud does not have: gcloud's requests to them.

gcloud's configuration leads them here (local_cloud/client/gcloud.py).
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from local_cloud.client.gcloud import ABSENT
from local_cloud.google.rest import VERBS, ApiError
from local_cloud.platform import Platform, Service


def service(platform: Platform) -> Service:
    """Return what refuses every request to such a service by the service's name."""

    async def refuse(request: Request) -> Response:
        name = request.path_params["name"]
        # Not 501: after an answer from 500 gcloud tries again, for a minute.
        return ApiError("FAILED_PRECONDITION", f"not part of the local cloud: {name}").response()

    return Service(routes=[Route(f"/{ABSENT}/{{name}}/{{rest:path}}", refuse, methods=VERBS)])
