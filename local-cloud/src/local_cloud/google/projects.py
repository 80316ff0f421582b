"""Google's projects: an id that people choose, and a number that resources are named by."""

from __future__ import annotations

import functools
import re
import sqlite3
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from local_cloud.store.records import Records

# A project's id in a path or a query, as it is sent: IDs are "lowercase letters, digits, or
# hyphens", after a domain and a colon in old ones (cloud.google.com/resource-manager/docs).
_NAMED = re.compile(rb"(?:/projects/|(?:^|&)project=)([a-z](?:[a-z0-9.:-]|%3A){0,80})(?=[/:&]|$)")
_KIND = "project"


@functools.lru_cache(maxsize=256)  # many requests are the same but for their bodies
def _find_projects(*texts: bytes) -> tuple[str, ...]:
    """Return the projects that a path and a query name."""
    projects = (each for text in texts for each in _NAMED.findall(text))
    return tuple(each.decode().replace("%3A", ":") for each in projects)


def project_number(project: str) -> str:
    """Return the number of a project, always the same: twelve digits, as real ones have.

    Whoever gives the number itself gets it back.
    """
    return project if project.isdecimal() else str(100_000_000_000 + zlib.crc32(project.encode()))


class Projects:
    """The projects that requests have named, on record by their numbers.

    Nobody creates a project here: one is there as soon as a request names it.
    """

    def __init__(self, records: Records) -> None:
        """Keep them in these records."""
        self._records = records
        self._known: set[str] = set()

    def note(self, project: str) -> None:
        """Remember that there is a project of this id."""
        if project in self._known:
            return
        number = project_number(project)
        # A disk that is full says so to the request that named the project, if that writes.
        with suppress(sqlite3.OperationalError):
            if not self._records.get(_KIND, number):
                self._records.put(_KIND, number, {"id": project, "created": time.time()})
            self._known.add(project)

    def get(self, project: str) -> dict[str, Any] | None:
        """Return the `id` of a project, and when it was `created`; None for a number never seen."""
        return self._records.get(_KIND, project_number(project))

    def list(self) -> list[dict[str, Any]]:
        """Return all projects that requests have named, by their ids."""
        projects = [document for _, document in self._records.list(_KIND, "")]
        return sorted(projects, key=lambda each: str(each["id"]))

    def id_of(self, number: str) -> str:
        """Return the id of the project with this number, or the number if it was never seen."""
        project = self.get(number)
        return str(project["id"]) if project else number


class NotingProjects:
    """Notes the projects that requests name, whichever service they are for."""

    def __init__(self, app: ASGIApp, projects: Projects) -> None:
        """Note projects, and pass everything on to the app."""
        self._app, self._projects = app, projects

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Note what the path and the query name."""
        if scope["type"] == "http" and not scope["path"].startswith(f"{scope['root_path']}/aws"):
            for project in _find_projects(scope["path"].encode(), scope["query_string"]):
                self._projects.note(project)
        await self._app(scope, receive, send)
