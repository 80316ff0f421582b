"""The search: names of everything that there is, with a link to each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.console.pages.bucket_pages import bucket_link, object_link
from local_cloud.console.pages.endpoint_pages import link as endpoint_link
from local_cloud.console.records import jobs, pipeline_runs, resources
from local_cloud.console.site import words
from local_cloud.console.site.site import ROOT, Site
from local_cloud.console.site.tables import Cell, Table
from local_cloud.store.errors import StoreError

MOST = 50  # of each kind
MOST_OBJECTS = 20_000  # names that are looked at

Found = Iterator[tuple[str, str, str]]  # title, link, small print


class Search:
    """What is behind /search."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.platform = site.platform

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [Route(f"{ROOT}/search", self.show)]

    async def show(self, request: Request) -> Response:
        """Show what has all the words in its name."""
        return await run_in_threadpool(self._show, request)

    def _show(self, request: Request) -> Response:
        asked = request.query_params.get("q", "").strip()
        wanted = asked.lower().split()
        tables = []
        for id, title, everything in self._kinds() if wanted else ():
            rows = []
            for name, href, note in everything:
                if all(word in f"{name} {note}".lower() for word in wanted):
                    rows.append([Cell(name, href, note)])
                    if len(rows) == MOST:
                        break
            if rows:
                note = f"The first {MOST}." if len(rows) == MOST else ""
                tables.append(Table(id, title, ("Name",), rows, note=note))
        return self.site.page(request, "search.html", asked=asked, tables=tables)

    def _kinds(self) -> Iterator[tuple[str, str, Found]]:
        yield "jobs", "Jobs", self._jobs()
        yield "studies", "Tuning", self._studies()
        for kind in resources.KINDS:
            yield kind.id, kind.title, self._resources(kind)
        yield "pipelines", "Pipelines", self._pipelines()
        yield "endpoints", "Endpoints", self._endpoints()
        yield "experiments", "Experiments", self._experiments()
        yield "buckets", "Buckets", self._buckets()
        yield "files", "Files", self._files()

    def _jobs(self) -> Found:
        for job in jobs.every(self.platform):
            one = jobs.describe(self.platform, job)
            yield one.title, f"jobs/{quote(job.id)}", f"{job.id}, {words.state_word(job.state)}"

    def _studies(self) -> Found:
        for study in self.platform.studies.all():
            document = self.platform.records.get("vertex", study.id) or {}
            title = document.get("displayName") or study.id
            yield title, f"study?name={quote(study.id, safe='')}", words.short(study.id)

    def _pipelines(self) -> Found:
        for run in pipeline_runs.every(self.platform.records):
            yield run.title, pipeline_runs.link(run.name), words.short(run.name)

    def _resources(self, kind: resources.Kind) -> Found:
        for name, document in resources.documents(self.platform.records, kind):
            title = resources.title(kind, name, document)
            yield title, resources.link(kind, name), words.short(name)

    def _endpoints(self) -> Found:
        for name, document in self.platform.records.list("vertex-endpoints"):
            yield document.get("displayName", name), endpoint_link(name), words.short(name)
        for name, _ in self.platform.records.list("endpoint"):
            yield name, endpoint_link(name), ""

    def _experiments(self) -> Found:
        for name, document in self.platform.records.list("vertex-contexts"):
            if document.get("schemaTitle") == "system.Experiment":
                title = document.get("displayName") or words.short(name)
                yield title, f"experiment?name={quote(name, safe='')}", ""

    def _buckets(self) -> Found:
        for scheme, store in (("gs", self.platform.gs), ("s3", self.platform.s3)):
            for bucket in store.buckets():
                yield bucket.name, bucket_link(scheme, bucket.name), f"{scheme}://"

    def _files(self) -> Found:
        looked = 0
        for scheme, store in (("gs", self.platform.gs), ("s3", self.platform.s3)):
            for bucket in list(store.buckets()):
                note = f"{scheme}://{bucket.name}"
                with suppress(StoreError):  # it may be deleted meanwhile
                    for name in store.names(bucket.name):
                        yield name, object_link(scheme, bucket.name, name), note
                        looked += 1
                        if looked >= MOST_OBJECTS:
                            return
