"""The parts of the service, made once."""

from __future__ import annotations

from local_cloud.google.bigquery.catalog.catalog import Catalog, Document
from local_cloud.google.bigquery.duckdb.database import Database
from local_cloud.google.bigquery.jobs.engine import Runner
from local_cloud.google.bigquery.jobs.extracts import Extracts
from local_cloud.google.bigquery.jobs.jobs import Handler, Jobs
from local_cloud.google.bigquery.jobs.loads import Loads
from local_cloud.google.bigquery.jobs.queries import Queries
from local_cloud.google.bigquery.jobs.uploads import Uploads
from local_cloud.google.bigquery.ml.changes import ModelChanges
from local_cloud.google.bigquery.ml.resources import ModelResources
from local_cloud.google.bigquery.ml.store import Models
from local_cloud.google.bigquery.tables.call import page_of
from local_cloud.google.bigquery.tables.datasets import Datasets
from local_cloud.google.bigquery.tables.streaming import Streaming
from local_cloud.google.bigquery.tables.tables import Tables
from local_cloud.google.projects import project_number
from local_cloud.google.rest import Call
from local_cloud.platform import Platform


class Parts:
    """What the routes and the server's end need."""

    def __init__(self, platform: Platform) -> None:
        """Serve this platform; the database is opened at its first use."""
        folder = platform.folder / "bigquery"
        self.database = Database(folder, platform.gs.space)
        self.catalog = Catalog(self.database)
        self._trained = Models(folder / "models")
        changes = ModelChanges(
            self.catalog, self._trained, platform.gs, registries=platform.registries
        )
        self.runner = Runner(self.database, self.catalog, changes)
        self.models = ModelResources(self.catalog, self._trained)
        self.jobs = Jobs(platform.records, self.database, self.catalog)
        loads = Loads(self.runner.writer, self.catalog, platform.gs)
        extracts = Extracts(self.runner.writer, self.catalog, platform.gs)
        platform.tables["bq"] = extracts.write_csv
        platform.counts["BigQuery jobs"] = self.jobs.count
        others: dict[str, Handler] = {
            "load": loads.run,
            "extract": extracts.run,
            "copy": extracts.copy,
        }
        self.queries = Queries(self.runner, self.jobs, others)
        self.datasets = Datasets(self.catalog)
        self.tables = Tables(self.catalog, self.runner.writer)
        self.streaming = Streaming(self.catalog)
        self.uploads = Uploads(folder / "uploads", self.queries, loads, space=platform.gs.space)

    def projects(self, call: Call) -> Document:
        """GET /projects: those that have datasets."""
        rows = self.database.rows("SELECT DISTINCT project FROM catalog.dataset ORDER BY 1")
        named = [
            {
                "kind": "bigquery#project",
                "id": project,
                "numericId": project_number(project),
                "projectReference": {"projectId": project},
                "friendlyName": project,
            }
            for (project,) in rows
        ]
        chosen, more = page_of(named, call)
        answer = {"kind": "bigquery#projectList", "projects": chosen, "totalItems": len(named)}
        return answer | more

    def close(self) -> None:
        """End the jobs and close the file."""
        self.jobs.close()
        self._trained.close()
        self.database.close()
