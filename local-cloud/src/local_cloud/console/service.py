"""The console as an application: its pages, for signed-in browsers only."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from local_cloud.console.pages.bill_page import BillPage
from local_cloud.console.pages.bucket_pages import BucketPages
from local_cloud.console.pages.compare_page import ComparePage
from local_cloud.console.pages.endpoint_pages import EndpointPages
from local_cloud.console.pages.experiment_pages import ExperimentPages
from local_cloud.console.pages.failure_page import FailurePage
from local_cloud.console.pages.job_list import JobList
from local_cloud.console.pages.job_pages import JobPages
from local_cloud.console.pages.link_page import Links
from local_cloud.console.pages.overview import Overview
from local_cloud.console.pages.pipeline_pages import PipelinePages
from local_cloud.console.pages.resource_pages import ResourcePages
from local_cloud.console.pages.search_page import Search
from local_cloud.console.pages.study_pages import StudyPages
from local_cloud.console.site.actions import Actions
from local_cloud.console.site.requests import Clouds
from local_cloud.console.site.sessions import Sessions
from local_cloud.console.site.site import HERE, ROOT, NotHere, RequireSession, Site
from local_cloud.engine.spec import EngineError
from local_cloud.platform import Platform
from local_cloud.store.errors import StoreError

PAGES = (
    Overview,
    JobList,
    ComparePage,
    JobPages,
    StudyPages,
    PipelinePages,
    ResourcePages,
    EndpointPages,
    ExperimentPages,
    BucketPages,
    BillPage,
    FailurePage,
    Search,
    Actions,
    Links,
)


def app(platform: Platform, clouds: ASGIApp, sessions: Sessions) -> ASGIApp:
    """Return the console; clouds: the services' application, for what its buttons ask of them."""
    site = Site(platform, sessions, Clouds(clouds))

    def missing(request: Request, problem: Exception) -> Response:
        # What is shown may be deleted, by others, while it is looked at.
        said = "There is no such page." if isinstance(problem, HTTPException) else str(problem)
        return site.page(request, "missing.html", 404, said=said)

    pages = Starlette(
        routes=[
            *(route for kind in PAGES for route in kind(site).routes()),
            Mount(f"{ROOT}/static", StaticFiles(directory=HERE / "static")),
        ],
        exception_handlers=dict.fromkeys(
            (NotHere, EngineError, StoreError, HTTPException), missing
        ),
    )
    pages.router.redirect_slashes = False  # pages have relative links
    return RequireSession(pages, site)
