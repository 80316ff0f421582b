"""What Google's machines ask for a token: clients in C++ that find no other credentials.

GCE_METADATA_ROOT leads them here; without an answer they would wait for minutes. The token is
nobody's, and nothing reads it. Paths: cloud.google.com/compute/docs/metadata.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local_cloud.client.gcloud import ACCOUNT
from local_cloud.platform import Platform, Service

ACCOUNTS = "/computeMetadata/v1/instance/service-accounts/{account}/"
SERVER = {"Metadata-Flavor": "Google"}


def service(platform: Platform) -> Service:
    """Return the two questions that clients ask."""

    async def account(_: Request) -> Response:
        return JSONResponse({"email": ACCOUNT, "scopes": [], "aliases": ["default"]}, 200, SERVER)

    async def token(_: Request) -> Response:
        token = {"access_token": "local-cloud", "expires_in": 3600, "token_type": "Bearer"}
        return JSONResponse(token, 200, SERVER)

    return Service(routes=[Route(ACCOUNTS, account), Route(f"{ACCOUNTS}token", token)])
