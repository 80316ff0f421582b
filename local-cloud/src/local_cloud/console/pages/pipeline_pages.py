"""The pages of pipelines: all runs of both clouds, and one as a graph."""

from __future__ import annotations

from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.console.charts import graphs
from local_cloud.console.records import jobs, pipeline_runs, resources
from local_cloud.console.site import words
from local_cloud.console.site.site import ROOT, NotHere, Site
from local_cloud.console.site.tables import Cell, Table, by_time

EMPTY = (
    "No pipeline has run yet. Each task of one is a job, and starts as soon as the tasks that it"
    " waits for have ended."
)


class PipelinePages:
    """What is behind /pipelines and /pipeline."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.platform = site.platform
        self.records = site.platform.records

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [Route(f"{ROOT}/pipelines", self.all), Route(f"{ROOT}/pipeline", self.one)]

    def all(self, request: Request) -> Response:
        """Show all runs, the newest first."""
        rows = [
            [
                Cell(run.title, pipeline_runs.link(run.name), words.short(run.name)),
                resources.state(run.word),
                Cell(words.cloud(run.cloud)),
                Cell(moment=run.begun),
                Cell(words.duration(run.ended - run.begun) if run.ended and run.begun else "–"),
            ]
            for run in pipeline_runs.every(self.records)
        ]
        columns = ("Run", "State", "Service", "Started", "Ran for")
        table = Table("pipelines", "", columns, by_time(rows, 3), EMPTY)
        return self.site.page(request, "listing.html", title="Pipelines", tables=[table], crumbs=())

    async def one(self, request: Request) -> Response:
        """Show one run: its graph, and each task with its job."""
        return await run_in_threadpool(self._one, request)

    def _one(self, request: Request) -> Response:
        name = request.query_params.get("name", "")
        run = next((each for each in pipeline_runs.every(self.records) if each.name == name), None)
        if run is None:
            raise NotHere(f"There is no pipeline run {name}. Perhaps it was deleted.")
        tasks = graphs.in_order(self._tasks(run))
        rows = []
        for task in tasks:
            took = task.ended - task.started if task.ended and task.started else None
            href = self._job(task)
            after = ", ".join(sorted(task.needs))
            cells = [Cell(moment=task.started), Cell(words.duration(took))]
            rows.append(
                [Cell(task.name, href, task.message[:200]), task.state, Cell(after), *cells]
            )
        columns = ("Task", "State", "Waits for", "Started", "Ran for")
        return self.site.page(
            request,
            "pipeline.html",
            run=run,
            state=resources.state(run.word),
            graph=graphs.graph(tasks) if tasks else None,
            link=self._job,
            table=Table("tasks", "Tasks", columns, rows, "It has no tasks."),
        )

    def _tasks(self, run: pipeline_runs.Run) -> list[graphs.Task]:
        if run.cloud == jobs.VERTEX:
            tasks = self.records.list("vertex-pipeline-task", f"{run.name} ")
            details = {task["path"]: task for _, task in tasks}
            return graphs.of_vertex(run.document, details)
        steps = self.records.list("pipeline-step", f"{run.document['id']}/")
        known = {step["name"]: step for _, step in steps}
        return graphs.of_sagemaker(run.document["definition"], known)

    def _job(self, task: graphs.Task) -> str:
        """Return the page of a task's job; "" if it has none (any more)."""
        for job in (task.job, f"{jobs.AMAZON['sagemaker-processing'].prefix}{task.job}"):
            if jobs.find(self.platform, job):
                return f"jobs/{quote(job)}"
        return ""
