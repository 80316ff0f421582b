"""The pages of experiments: runs with what they noted, and the curves of TensorBoard."""

from __future__ import annotations

import math

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.console.charts import charts, looks
from local_cloud.console.records import resources, tracking
from local_cloud.console.site import words
from local_cloud.console.site.site import ROOT, NotHere, Site
from local_cloud.console.site.tables import Cell, Table, by_time, rows_of
from local_cloud.json_types import Json

MOST_LINES = 12  # of a chart
EMPTY = (
    "No experiment yet. aiplatform.log_params() and log_metrics() log the parameters and metrics of"
    " each run."
)
CURVES = "curves"  # the last values of a run's curves, beside what it has noted
NO_BOARD = "No curves yet. A job makes them with TensorBoard, or log_time_series_metrics()."


class ExperimentPages:
    """What is behind /experiments, /experiment and /board."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.records = site.platform.records

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [
            Route(f"{ROOT}/experiments", self.all),
            Route(f"{ROOT}/experiment", self.one),
            Route(f"{ROOT}/board", self.board),
        ]

    def all(self, request: Request) -> Response:
        """Show all experiments, and all that has curves in a TensorBoard."""
        columns = ("Name", "Runs", "Created")
        contexts = (
            (name, document)
            for name, document in self.records.list("vertex-contexts")
            if document.get("schemaTitle") == "system.Experiment"
        )
        rows = rows_of("vertex-contexts", contexts, self._row, columns=len(columns))
        boards = []
        for name, document in self.records.list("vertex-experiments"):
            runs = sum(1 for _ in self.records.list("vertex-runs", f"{name}/"))
            made = Cell(moment=resources.seconds(document.get("createTime")))
            title = document.get("displayName") or words.short(name)
            boards.append([Cell(title, tracking.link("board", name)), Cell(str(runs)), made])
        tables = [
            Table("contexts", "Vertex AI experiments", columns, by_time(rows, 2), EMPTY),
            Table("boards", "TensorBoard", columns, by_time(boards, 2), NO_BOARD),
        ]
        title = "Experiments"
        return self.site.page(request, "listing.html", title=title, tables=tables, crumbs=())

    def _row(self, name: str, document: Json) -> list[Cell]:
        title = document.get("displayName") or words.short(name)
        runs = len(document.get("childContexts", [])) or len(self._runs(name))
        made = Cell(moment=resources.seconds(document.get("createTime")))
        return [Cell(title, tracking.link("experiment", name)), Cell(str(runs)), made]

    def _runs(self, experiment: str) -> list[tuple[str, Json]]:
        """Return the runs of an experiment, the newest first."""
        document = self.records.get("vertex-contexts", experiment) or {}
        named = set(document.get("childContexts", []))
        store = experiment.partition("/contexts/")[0]
        runs = [
            (name, one)
            for name, one in self.records.list("vertex-contexts", f"{store}/contexts/")
            if one.get("schemaTitle") == "system.ExperimentRun"
            and (name in named or experiment in one.get("parentContexts", []))
        ]
        return sorted(runs, key=lambda pair: str(pair[1].get("createTime")), reverse=True)

    def one(self, request: Request) -> Response:
        """Show one experiment: a row for each run, a column for each parameter and metric."""
        name = request.query_params.get("name", "")
        document = self.records.get("vertex-contexts", name)
        if document is None:
            raise NotHere(f"There is no experiment {name}. Perhaps it was deleted.")
        runs = self._runs(name)
        board = tracking.board_of(self.records, name)
        curves_page = board and tracking.link("board", board)
        told = [
            self._values(f"{board}/runs/{run.removeprefix(f'{name}-')}", one) for run, one in runs
        ]
        senders = tracking.jobs_of_runs(self.site.platform)
        parameters = _names(told, "_params")
        metrics = _names(told, "_metrics")
        curves = [each for each in _names(told, CURVES) if each not in metrics]
        rows = [
            [
                Cell(
                    one.get("displayName") or words.short(run),
                    senders.get(words.short(run), ""),
                    words.short(run),
                ),
                resources.state(str(metadata.get("_state") or "RUNNING")),
                *(_value(metadata, "_params", each) for each in parameters),
                *(_value(metadata, "_metrics", each) for each in metrics),
                *(_value(metadata, CURVES, each) for each in curves),
                Cell(moment=resources.seconds(one.get("createTime"))),
            ]
            for (run, one), metadata in zip(runs, told, strict=True)
        ]
        columns = ("Run", "State", *parameters, *metrics, *curves, "Started")
        given, measured, last = (
            ", ".join(names) or "none" for names in (parameters, metrics, curves)
        )
        note = f"Parameters: {given}. Metrics: {measured}."
        if curves:
            note += f" Last values in TensorBoard: {last}."
        table = Table("runs", "Runs", columns, rows, "No run yet.", note)
        title = document.get("displayName") or words.short(name)
        return self.site.page(
            request,
            "experiment.html",
            title=title,
            table=table,
            links=self._links(name, curves_page, "TensorBoard: its curves"),
        )

    def _values(self, run: str, document: Json) -> Json:
        """Return what a run has noted, and the last values of its curves in a TensorBoard."""
        values = tracking.last_values(self.records, run)
        return {**document.get("metadata", {}), CURVES: values}

    def _links(self, name: str, page: str, text: str) -> list[tuple[str, str]]:
        """Return page and text of the other pages about an experiment."""
        owner = tracking.owner_of(self.site.platform, name)
        kind = "Study" if owner.startswith("study") else "Job"
        links = [(owner, f"{kind}: {words.short(name)}"), (page, text)]
        return [(page, text) for page, text in links if page]

    def _context(self, board: str) -> str:
        """Return the page of the experiment whose curves are here; "" if there is none."""
        context = tracking.experiment_of(self.records, board)
        return context and tracking.link("experiment", context)

    async def board(self, request: Request) -> Response:
        """Show the curves of an experiment of a TensorBoard.

        Each tag has a chart, each run a line.
        """
        return await run_in_threadpool(self._board, request)

    def _board(self, request: Request) -> Response:
        name = request.query_params.get("name", "")
        document = self.records.get("vertex-experiments", name)
        if document is None:
            raise NotHere(f"No TensorBoard has an experiment {name}. Perhaps it was deleted.")
        tags: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for series, one in self.records.list("vertex-timeSeries", f"{name}/"):
            run = self.records.get("vertex-runs", series.partition("/timeSeries/")[0]) or {}
            title = run.get("displayName") or series.split("/runs/")[1].partition("/")[0]
            points = [
                (float(point.get("step", 0)), float(point["scalar"].get("value", 0.0)))
                for _, point in self.records.list("vertex-points", f"{series}/")
                if "scalar" in point
            ]
            finite = [point for point in points if math.isfinite(point[1])]
            lines = tags.setdefault(one.get("displayName", ""), {})
            if finite and len(lines) < MOST_LINES:
                lines[title] = finite
        query = request.query_params
        look = looks.Look.of(query)
        drawn = [charts.lines(tag, lines, "step", look=look) for tag, lines in sorted(tags.items())]
        return self.site.page(
            request,
            "board.html",
            links=self._links(name, self._context(name), "Experiment: its runs"),
            title=document.get("displayName") or words.short(name),
            charts=[chart for chart in drawn if chart],
            scales=looks.scales(query, "curves"),
            smoothings=looks.smoothings(query, "curves"),
        )


def _names(told: list[Json], field: str) -> list[str]:
    """Return all names that any run has noted, in the order in which they came."""
    return list(dict.fromkeys(name for one in told for name in one.get(field) or {}))


def _value(metadata: Json, field: str, name: str) -> Cell:
    values = metadata.get(field) or {}
    return Cell(words.number(values[name]) if name in values else "–")
