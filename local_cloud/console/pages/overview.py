"""The first page: what runs now, what there is, and where to go on."""

from __future__ import annotations

from collections import Counter

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.console.records import jobs
from local_cloud.console.site.site import ROOT, Site

LATEST = 8


class Overview:
    """What is behind /."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.platform = site.platform

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [Route(f"{ROOT}/", self.show)]

    async def show(self, request: Request) -> Response:
        """Answer with the page."""
        platform = self.platform
        listed = list(jobs.every(platform))
        return self.site.page(
            request,
            "overview.html",
            latest=[jobs.describe(platform, job) for job in listed[:LATEST]],
            counts=Counter(job.state.value for job in listed),
            total=len(listed),
            deployments=len(list(platform.serving.deployments())),
            buckets=sum(len(list(each.buckets())) for each in (platform.gs, platform.s3)),
        )
