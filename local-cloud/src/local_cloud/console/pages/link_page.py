"""Where SDKs' links lead (client/sdks/console_links.py): to the page of what they name."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from local_cloud.console.pages.bucket_pages import bucket_link
from local_cloud.console.pages.endpoint_pages import link as endpoint_link
from local_cloud.console.records import jobs, pipeline_runs, resources
from local_cloud.console.site.site import ROOT, NotHere, Site
from local_cloud.store.errors import StoreError


class Links:
    """What is behind /at."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.platform = site.platform

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [Route(f"{ROOT}/at/{{rest:path}}", self.find)]

    async def find(self, request: Request) -> Response:
        """Go to the page of the last thing that the address names."""
        rest = request.path_params["rest"]
        for word in reversed([word for word in re.split(r"[/;=?&#]+", unquote(rest)) if word]):
            if page := await run_in_threadpool(self._page, word):
                return RedirectResponse("../" * (rest.count("/") + 1) + page, 303)
        raise NotHere("There is no page for what this link names. Perhaps it was deleted.")

    def _page(self, word: str) -> str:
        """Return the page of what has this id or name; "" if nothing has."""
        records = self.platform.records
        if jobs.find(self.platform, word):
            return f"jobs/{quote(word)}"
        for study in self.platform.studies.all():
            if study.id.rpartition("/")[2] == word:
                return f"study?name={quote(study.id, safe='')}"
        for name, document in records.list("vertex", "projects/"):
            if name.endswith(f"/trainingPipelines/{word}") and "job" in document:
                return f"jobs/{document['job'].rpartition('/')[2]}"
        for name, _ in records.list("vertex-pipeline"):
            if name.rpartition("/")[2] == word:
                return pipeline_runs.link(name)
        for kind in resources.KINDS:
            for name, _ in resources.documents(records, kind):
                if name.rpartition("/")[2].partition("@")[0] == word:
                    return resources.link(kind, name)
        for name, _ in [*records.list("vertex-endpoints"), *records.list("endpoint")]:
            if name.rpartition("/")[2] == word:
                return endpoint_link(name)
        for name, document in records.list("vertex-contexts"):
            if name.rpartition("/")[2] == word and document["schemaTitle"] == "system.Experiment":
                return f"experiment?name={quote(name, safe='')}"
        for scheme, store in (("gs", self.platform.gs), ("s3", self.platform.s3)):
            try:
                return bucket_link(scheme, store.bucket(word).name)
            except StoreError:
                continue
        return ""
