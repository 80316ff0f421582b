"""Jobs side by side: their results, the flags in which they differ, and their curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.bounded.turns import in_turn
from local_cloud.console.charts import charts, looks
from local_cloud.console.records import flags, job_metrics, job_rows, jobs
from local_cloud.console.records.curves import Series
from local_cloud.console.records.job_curves import JobCurves
from local_cloud.console.site.site import ROOT, Site

MOST = 6  # jobs: a chart has as many colours


@dataclass(frozen=True)
class Fact:
    """A row: one thing of each job."""

    name: str
    values: Sequence[str]

    @property
    def differs(self) -> bool:
        """Return whether the jobs differ in it."""
        return len(set(self.values)) > 1


class ComparePage:
    """What is behind /compare."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.platform = site.platform
        self.curves = JobCurves(self.platform)

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [Route(f"{ROOT}/compare", self.show)]

    async def show(self, request: Request) -> Response:
        """Answer with the page."""
        return await in_turn(self._show, request)

    def _show(self, request: Request) -> Response:
        wanted = list(dict.fromkeys(request.query_params.getlist("job")))
        known_jobs = [job for name in wanted if (job := jobs.find(self.platform, name))]
        chosen = known_jobs[:MOST]
        sent = [flags.of(one) for one in chosen]
        used = [job_metrics.flags(jobs.metrics(self.platform, one)) for one in chosen]
        facts = [
            Fact(f"--{name}", [_value(name, *each) for each in zip(sent, used, strict=True)])
            for name in flags.names(sent)
        ]
        return self.site.page(
            request,
            "compare.html",
            rows=[job_rows.of(self.platform, one) for one in chosen],
            without=[
                "?" + urlencode([("job", other.job.id) for other in chosen if other is not one])
                for one in chosen
            ],
            different=[one for one in facts if one.differs],
            same=[one for one in facts if not one.differs],
            charts=self._charts(chosen, looks.Look.of(request.query_params)),
            scales=looks.scales(request.query_params, "curves"),
            left_out=len(known_jobs) - len(chosen),
            most=MOST,
        )

    def _charts(self, chosen: Sequence[jobs.Shown], look: looks.Look) -> list[charts.Chart]:
        """Draw a chart for each metric, with a line for each job."""
        metrics: dict[str, Series] = {}
        titles = _titles(chosen)
        for one, title in zip(chosen, titles, strict=True):
            for name, points in self.curves.of(one).items():
                metrics.setdefault(name, {})[title] = points
        if "loss" in metrics and "validation loss" in metrics:
            metrics["training loss"] = metrics.pop("loss")
        drawn = [
            charts.lines(name.capitalize(), lines, look=look, colours=titles)
            for name, lines in metrics.items()
        ]
        return [chart for chart in drawn if chart]


def _value(name: str, sent: dict[str, str], used: dict[str, str]) -> str:
    """Return a flag's value in a request, or else the default with which the program ran."""
    if name in sent:
        return sent[name] or "set"
    return f"{used[name]} (default)" if name in used else "not sent"


def _titles(chosen: Sequence[jobs.Shown]) -> list[str]:
    """Return a name for each job, with its id where two have the same."""
    seen = Counter(one.title for one in chosen)
    return [one.title if seen[one.title] == 1 else f"{one.title} {one.job.id}" for one in chosen]
