"""The first page: what runs now, what there is, and where to go on."""

from __future__ import annotations

from collections import Counter

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.console.pages import job_list
from local_cloud.console.records import job_rows, jobs
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
        return await run_in_threadpool(self._show, request)

    def _show(self, request: Request) -> Response:
        platform = self.platform
        listed = list(jobs.every(platform))
        latest = job_rows.group(platform, listed)[:LATEST]
        return self.site.page(
            request,
            "overview.html",
            latest=[job_rows.of_group(platform, each) for each in latest],
            columns=job_list.PLAIN,
            counts=Counter(job.state.value for job in listed),
            total=len(listed),
            deployments=len(list(platform.serving.deployments())),
            buckets=sum(len(list(each.buckets())) for each in (platform.gs, platform.s3)),
        )
