"""The list of all jobs: filtered and sorted by the address, so that it needs no script."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.console.records import job_rows, jobs
from local_cloud.console.site import words
from local_cloud.console.site.site import ROOT, Site
from local_cloud.engine.spec import Job, State

PAGE = 50  # rows on a page
ACTIVE = (State.QUEUED, State.STAGING, State.RUNNING, State.STOPPING)
NAMES = {
    "name": "Job",
    "state": "State",
    "accuracy": "Accuracy",
    "loss": "Loss",
    "cost": "Cost, $",
    "ran": "Ran for",
    "machine": "Machine",
    "sent": "Sent",
}
FILTERS = ("cloud", "state", "q")


@dataclass(frozen=True)
class Column:
    """A column's head: a link that sorts by it."""

    name: str
    link: str = ""
    order: str = ""  # ascending or descending, if the list is sorted by it


PLAIN = {key: Column(name) for key, name in NAMES.items()}  # of a list that is not sorted


class JobList:
    """What is behind /jobs."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.platform = site.platform

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [Route(f"{ROOT}/jobs", self.show)]

    async def show(self, request: Request) -> Response:
        """Answer with the page."""
        return await run_in_threadpool(self._show, request)

    def _show(self, request: Request) -> Response:
        query = {name: value for name, value in request.query_params.items() if value}
        by = query.get("sort", "")
        by = by if by in job_rows.KEYS else "sent"
        order = query.get("order", "descending" if job_rows.KEYS[by][1] else "ascending")
        listed = list(jobs.every(self.platform))
        chosen = self._choose(listed, query)
        number = max(1, words.whole(query.get("page", ""), 1))
        rows, pages = self._rows(chosen, by=by, descending=order == "descending", number=number)
        kept = {name: query[name] for name in FILTERS if name in query}
        sorted_by = kept | {name: query[name] for name in ("sort", "order") if name in query}
        return self.site.page(
            request,
            "jobs.html",
            rows=rows,
            columns=columns(kept, by, order),
            total=len(listed),
            matching=len(chosen),
            counts=Counter(job.state.value for job in listed),
            query=dict.fromkeys((*FILTERS, "sort", "order"), "") | query,
            filtered=bool(kept),
            number=number,
            pages=pages,
            link=lambda page: "?" + urlencode(sorted_by | {"page": page}),
        )

    def _choose(self, listed: list[Job], query: dict[str, str]) -> list[Job]:
        chosen = [
            job for job in listed if _fits(job, query.get("cloud", ""), query.get("state", ""))
        ]
        word = query.get("q", "").lower()
        if not word:
            return chosen
        shown = [jobs.describe(self.platform, job) for job in chosen]
        return [each.job for each in shown if word in f"{each.title} {each.job.id}".lower()]

    def _rows(
        self, chosen: list[Job], *, by: str, descending: bool, number: int
    ) -> tuple[list[job_rows.Row], int]:
        """Return the rows of a page, and how many pages there are."""
        groups = job_rows.group(self.platform, chosen)
        pages = max(1, -(-len(groups) // PAGE))
        place = slice((number - 1) * PAGE, number * PAGE)
        if by == "sent":  # as they come: only the page's own rows are made
            ordered = groups if descending else groups[::-1]
            return [job_rows.of_group(self.platform, each) for each in ordered[place]], pages
        rows = [job_rows.of_group(self.platform, each) for each in groups]
        return job_rows.sort(rows, by, descending=descending)[place], pages


def columns(kept: dict[str, str], by: str, order: str) -> dict[str, Column]:
    """Return a head for each column; a second click on the same one turns the order round."""
    heads = {}
    for key, name in NAMES.items():
        first = "descending" if job_rows.KEYS[key][1] else "ascending"
        other = "ascending" if order == "descending" else "descending"
        link = "?" + urlencode(kept | {"sort": key, "order": other if key == by else first})
        heads[key] = Column(name, link, order if key == by else "")
    return heads


def _fits(job: Job, cloud: str, state: str) -> bool:
    if cloud and not job.dialect.startswith(cloud):
        return False
    if state == "active":
        return job.state in ACTIVE
    return not state or job.state.value == state
