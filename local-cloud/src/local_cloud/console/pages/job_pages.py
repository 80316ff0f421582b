"""The page of one job: its curves, its logs, and what can be done to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from local_cloud.bounded.turns import in_turn
from local_cloud.console.charts import charts, looks
from local_cloud.console.records import (
    flags,
    job_metrics,
    job_rows,
    jobs,
    logs,
    results,
    tracking,
)
from local_cloud.console.records.job_curves import JobCurves
from local_cloud.console.site.requests import RequestRefused
from local_cloud.console.site.site import ROOT, NotHere, Site
from local_cloud.engine.spec import Job
from local_cloud.json_types import Json

Action = Callable[[jobs.Shown], Awaitable[None]]


class JobPages:
    """What is behind /jobs/JOB."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.platform = site.platform
        self.curves = JobCurves(self.platform)

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        one = f"{ROOT}/jobs/{{job}}"
        return [
            Route(f"{one}", self.one),
            Route(f"{one}/log", self.log),
            Route(f"{one}/stop", self.stop, methods=["POST"]),
            Route(f"{one}/delete", self.delete, methods=["POST"]),
        ]

    def _find(self, request: Request) -> jobs.Shown:
        shown = jobs.find(self.platform, request.path_params["job"])
        if shown is None:
            raise NotHere(f"There is no job {request.path_params['job']}. Perhaps it was deleted.")
        return shown

    async def one(self, request: Request) -> Response:
        """Show one job."""
        shown = self._find(request)
        return await in_turn(self._one, request, shown)

    def _one(self, request: Request, shown: jobs.Shown) -> Response:
        job = shown.job
        there = self.platform.engine.logs(job.id)
        chosen = request.query_params.get("replica", "")
        replica = chosen if chosen in there else next(iter(there), "")
        first = logs.tail(there[replica]) if replica else 0
        piece = self._piece(job, replica, first) if replica else {"lines": [], "next": 0}
        bucket, prefix = jobs.output_folder(shown)
        return self.site.page(
            request,
            "job.html",
            one=shown,
            job=job,
            cost=job_rows.cost(job),
            machines=job_rows.machines(job),
            flags=(sent := flags.of(shown)),
            epoch=self._epoch(shown),
            best_epoch=job_metrics.best_epoch(jobs.metrics(self.platform, shown)),
            result=results.of_job(self.platform, job.id),
            epochs=flags.epochs(sent),
            tracked=tracking.of_job(self.platform.records, shown),
            pipeline=job_rows.pipeline_of(self.platform, job),
            ended=job.state.ended,
            replicas=jobs.replicas(self.platform, shown),
            replica=replica,
            log=piece,
            log_start=first,
            charts=self._charts(shown, looks.Look.of(request.query_params)),
            scales=looks.scales(request.query_params, "curves"),
            output=f"{bucket}/{prefix}" if bucket else "",
            scheme="s3" if job.dialect.startswith(jobs.SAGEMAKER) else "gs",
            bucket=bucket,
            prefix=prefix,
        )

    def _epoch(self, shown: jobs.Shown) -> int | None:
        """Return the last epoch of the curves; None without curves."""
        ends = [points[-1][0] for points in self.curves.of(shown).values() if points]
        return int(max(ends)) if ends else None

    def _charts(self, shown: jobs.Shown, look: looks.Look) -> list[charts.Chart]:
        """Draw the learning curves: losses in one chart, what else there is in another."""
        curves = self.curves.of(shown)
        losses = {name: points for name, points in curves.items() if "loss" in name}
        others = {name: points for name, points in curves.items() if "loss" not in name}
        parts = {"Loss": losses, "Metrics": others}
        drawn = [charts.lines(title, series, look=look) for title, series in parts.items()]
        return [chart for chart in drawn if chart]

    def _piece(self, job: Job, replica: str, start: int) -> Json:
        engine = self.platform.engine
        log = engine.logs(job.id)[replica]
        return logs.piece(log, start, ended=job.state.ended, hidden=engine.hidden)

    async def log(self, request: Request) -> Response:
        """Send a piece of a log as JSON: from a byte on, or what ends at one."""
        job = self._find(request).job
        query = request.query_params
        replica = query.get("replica", "")
        there = self.platform.engine.logs(job.id)
        if replica not in there:
            raise NotHere(f"The job {job.id} has no replica {replica}.")
        hidden = self.platform.engine.hidden
        piece = await run_in_threadpool(
            logs.read_piece, there[replica], query, ended=job.state.ended, hidden=hidden
        )
        return JSONResponse(piece | {"ended": job.state.ended})

    async def stop(self, request: Request) -> Response:
        """Stop the job, as its cloud's client would."""
        shown = self._find(request)
        return await self._act(shown, "../" + quote(shown.job.id), self._stop)

    async def _stop(self, shown: jobs.Shown) -> None:
        if kind := jobs.AMAZON.get(shown.job.dialect):
            await self.site.clouds.amazon(
                f"SageMaker.Stop{kind.noun}", _name_parameter(kind, shown)
            )
        else:
            name = shown.pipeline or shown.resource
            await self.site.clouds.google("POST", f"/v1/{name}:cancel", {})

    async def delete(self, request: Request) -> Response:
        """Delete the job, as its cloud's client would."""
        return await self._act(self._find(request), "../../jobs", self._delete)

    async def _delete(self, shown: jobs.Shown) -> None:
        if kind := jobs.AMAZON.get(shown.job.dialect):
            await self.site.clouds.amazon(
                f"SageMaker.Delete{kind.noun}", _name_parameter(kind, shown)
            )
            return
        if shown.pipeline:  # the pipeline is what its user has made; the job goes with it
            await self.site.clouds.google("DELETE", f"/v1/{shown.pipeline}")
        await self.site.clouds.google("DELETE", f"/v1/{shown.resource}")

    async def _act(self, shown: jobs.Shown, then: str, what: Action) -> Response:
        try:
            await what(shown)
        except RequestRefused as problem:
            back = "../" + quote(shown.job.id)
            return RedirectResponse(f"{back}?{urlencode({'refused': str(problem)})}", 303)
        return RedirectResponse(then, 303)


def _name_parameter(kind: jobs.Kind, shown: jobs.Shown) -> dict[str, str]:
    return {f"{kind.noun}Name": shown.resource}
