"""The pages of buckets: both clouds', their folders, and the files in them."""

from __future__ import annotations

from itertools import islice
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from local_cloud.bounded.turns import in_turn
from local_cloud.console.files import previews
from local_cloud.console.site import words
from local_cloud.console.site.site import ROOT, NotHere, Site
from local_cloud.console.site.tables import Cell, Table
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects
from local_cloud.store.values import Object

PAGE = 200  # names on a page
SCHEMES = {"gs": "Cloud Storage (Google)", "s3": "S3 (Amazon)"}
# What google-cloud-aiplatform 2.7 uploads into a staging bucket (utils/gcs_utils.py).
OF_SDKS = ("aiplatform-", "vertex_ai_auto_staging/")
EMPTY = {
    "gs": "No bucket yet. Client.create_bucket() of Cloud Storage creates one.",
    "s3": "No bucket yet. create_bucket() of S3 creates one.",
}


class BucketPages:
    """What is behind /buckets, /bucket and /object."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.stores = {"gs": site.platform.gs, "s3": site.platform.s3}

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [
            Route(f"{ROOT}/buckets", self.all),
            Route(f"{ROOT}/bucket", self.folder),
            Route(f"{ROOT}/object", self.object),
            Route(f"{ROOT}/content", self.content),
        ]

    def all(self, request: Request) -> Response:
        """Show all buckets of both clouds."""
        tables = []
        for scheme, store in self.stores.items():
            rows = [
                [Cell(one.name, bucket_link(scheme, one.name)), Cell(moment=one.created)]
                for one in store.buckets()
            ]
            columns = ("Bucket", "Created")
            tables.append(Table(scheme, SCHEMES[scheme], columns, rows, EMPTY[scheme]))
        return self.site.page(request, "listing.html", title="Buckets", tables=tables, crumbs=())

    def _store(self, request: Request) -> tuple[str, Objects, str]:
        scheme = request.query_params.get("scheme", "")
        if scheme not in self.stores:
            raise NotHere("There is no such bucket. A bucket's URI begins with gs:// or s3://.")
        return scheme, self.stores[scheme], request.query_params.get("name", "")

    async def folder(self, request: Request) -> Response:
        """Show a bucket, a folder at a time."""
        scheme, store, name = self._store(request)
        prefix = request.query_params.get("prefix", "")
        after = request.query_params.get("after", "")
        try:
            return await run_in_threadpool(
                self._folder,
                request,
                scheme,
                store=store,
                name=name,
                prefix=prefix,
                after=after,
            )
        except StoreError as problem:
            raise NotHere(f"{problem}.") from None

    def _folder(
        self, request: Request, scheme: str, *, store: Objects, name: str, prefix: str, after: str
    ) -> Response:
        names = list(islice(store.names(name, prefix, after=after, delimiter="/"), PAGE + 1))
        page = names[:PAGE]
        # What a reader has put or written there comes before what an SDK uploads by itself.
        listed = sorted(page, key=lambda each: each.removeprefix(prefix).startswith(OF_SDKS))
        sizes = {one.name: one for one in store.select(name, [n for n in listed if n[-1] != "/"])}
        rows = []
        for each in listed:
            if one := sizes.get(each):
                link = object_link(scheme, name, each)
                cells = [Cell(words.size(one.size)), Cell(moment=one.updated)]
                rows.append([Cell(each.removeprefix(prefix), link), *cells])
            elif each.endswith("/"):
                link = bucket_link(scheme, name, each)
                rows.append([Cell(each.removeprefix(prefix), link), Cell("folder"), Cell("")])
        more = bucket_link(scheme, name, prefix, after=page[-1]) if len(names) > PAGE else ""
        table = Table(
            "list",
            "",
            ("Name", "Size", "Written"),
            rows,
            "Nothing is here. A job writes here when it ends; upload() puts files here at once.",
        )
        crumbs = [(bucket_link(scheme, name), name)] if prefix else []
        parts = prefix.split("/")[:-1]
        crumbs += [
            (bucket_link(scheme, name, "/".join(parts[: n + 1]) + "/"), part)
            for n, part in enumerate(parts[:-1])
        ]
        return self.site.page(
            request,
            "folder.html",
            title=parts[-1] if parts else name,
            address=f"{scheme}://{name}/{prefix}",
            table=table,
            crumbs=crumbs,
            more=more,
        )

    def _object(self, request: Request) -> tuple[str, str, Object]:
        scheme, store, name = self._store(request)
        try:
            return scheme, name, store.get(name, request.query_params.get("key", ""))
        except StoreError as problem:
            raise NotHere(f"{problem}.") from None

    async def object(self, request: Request) -> Response:
        """Show one file, with as much of it as can be shown."""
        return await in_turn(self._object_page, request)

    def _object_page(self, request: Request) -> Response:
        scheme, name, stored = self._object(request)
        folder, _, short = stored.name.rpartition("/")
        try:
            preview = previews.of(stored.path, stored.name, stored.size)
        except OSError as problem:
            raise NotHere(f"{stored.name} was removed in the meantime ({problem}).") from None
        crumbs = [(bucket_link(scheme, name), name)]
        if folder:
            crumbs.append((bucket_link(scheme, name, f"{folder}/"), folder))
        return self.site.page(
            request,
            "object.html",
            title=short or stored.name,
            address=f"{scheme}://{name}/{stored.name}",
            object=stored,
            preview=preview,
            content="content?" + urlencode({"scheme": scheme, "name": name, "key": stored.name}),
            crumbs=crumbs,
        )

    async def content(self, request: Request) -> Response:
        """Send the bytes: of a picture to be shown, of anything else to be kept as a file."""
        _, _, stored = await run_in_threadpool(self._object, request)
        kind = "" if request.query_params.get("save") else previews.picture_type(stored.path)
        if kind:
            return FileResponse(stored.path, media_type=kind)
        short = stored.name.rstrip("/").rpartition("/")[2] or "file"
        return FileResponse(stored.path, media_type="application/octet-stream", filename=short)


def bucket_link(scheme: str, name: str, prefix: str = "", *, after: str = "") -> str:
    """Return the page of a bucket, or of a folder in it, relative to the console's root."""
    query = {"scheme": scheme, "name": name, "prefix": prefix, "after": after}
    return "bucket?" + urlencode({key: value for key, value in query.items() if value})


def object_link(scheme: str, name: str, key: str) -> str:
    """Return the page of an object, relative to the console's root."""
    return f"object?scheme={scheme}&name={quote(name, safe='')}&key={quote(key, safe='')}"
