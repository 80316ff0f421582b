"""The pages of tuning: all studies, and one with its trials."""

from __future__ import annotations

from importlib.util import find_spec
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.console.charts import parallel, study_charts
from local_cloud.console.records import studies
from local_cloud.console.records.jobs import SAGEMAKER
from local_cloud.console.site import words
from local_cloud.console.site.site import ROOT, NotHere, Site
from local_cloud.console.site.tables import Cell, Table, by_time, rows_of
from local_cloud.engine.spec import EngineError, NoSuchJob
from local_cloud.engine.studies.importance import FEWEST
from local_cloud.engine.studies.spec import Study, TrialJob
from local_cloud.extras import explain_missing

EMPTY = (
    "No study yet. A tuning job is one: many jobs that try different settings, to find the best. It"
    " appears here with all its trials."
)


class StudyPages:
    """What is behind /studies and /study."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.platform = site.platform
        self._shares: dict[str, tuple[int, dict[str, float]]] = {}  # computed for so many trials

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [Route(f"{ROOT}/studies", self.all), Route(f"{ROOT}/study", self.one)]

    def all(self, request: Request) -> Response:
        """Show all studies, the newest first."""
        columns = ("Study", "State", "Service", "Trials", "Best", "Started")
        studies = ((study.id, study) for study in self.platform.studies.all())
        rows = rows_of("study", studies, lambda _, study: self._row(study), columns=len(columns))
        table = Table("studies", "", columns, by_time(rows, 5), EMPTY)
        return self.site.page(request, "listing.html", title="Tuning", tables=[table], crumbs=())

    def _row(self, study: Study) -> list[Cell]:
        best = study.best
        return [
            Cell(
                studies.title(self.platform.records, study),
                f"study?name={quote(study.id, safe='')}",
                _id(study),
            ),
            Cell(words.state_word(study.state), chip=words.state_class(study.state)),
            Cell(words.cloud(study.cloud)),
            Cell(f"{sum(t.ended for t in study.trials)} of {study.spec.max_trials}"),
            Cell(words.number(best.result) if best else "–"),
            Cell(moment=study.created),
        ]

    def one(self, request: Request) -> Response:
        """Show one study, its trials, and how their settings go with their results."""
        name = request.query_params.get("name", "")
        # A trial's job names its study by the end of an ARN, or in full.
        try:
            study = self.platform.studies.get(name)
        except EngineError:
            raise NotHere(f"There is no study {name}. Perhaps it was deleted.") from None
        metric = studies.metric(self.platform.records, study)
        names = [parameter.name for parameter in study.spec.parameters]
        shares = self._importance(study)
        rows = [self._trial(study, number, t) for number, t in enumerate(study.trials, 1)]
        columns = ("Trial", "State", *names, metric, "Ran for")
        return self.site.page(
            request,
            "study.html",
            study=study,
            title=studies.title(self.platform.records, study),
            id=_id(study),
            metric=metric,
            best=study.best,
            best_number=study.trials.index(study.best) + 1 if study.best else 0,
            picture=parallel.of(study, metric),
            history=study_charts.history(study, metric),
            slices=study_charts.slices(study, metric),
            importance=_importance_table(shares),
            table=Table("trials", "Trials", columns, rows, "The first trial is being sent."),
        )

    def _importance(self, study: Study) -> dict[str, float]:
        """Return each parameter's share; it is computed again when another trial has a result."""
        count = sum(trial.result is not None for trial in study.trials)
        known = self._shares.get(study.id)
        if known is None or known[0] != count:
            known = self._shares[study.id] = count, study_charts.importance(study)
        return known[1]

    def _trial(self, study: Study, number: int, trial: TrialJob) -> list[Cell]:
        try:
            job = self.platform.engine.get(trial.job)
        except NoSuchJob:
            state, took, href = Cell("Deleted", chip="off"), "–", ""
        else:
            state = Cell(words.state_word(job.state), chip=words.state_class(job.state))
            ran = job.ended - job.started if job.ended and job.started else None
            took, href = words.duration(ran), f"jobs/{quote(job.id)}"
        if trial.reason:
            state = Cell("No result", note=trial.reason.splitlines()[0][:160], chip="bad")
        elif trial.early:
            state = Cell("Stopped early", chip="off")
        values = [
            Cell(words.number(trial.values[one.name]) if one.name in trial.values else "–")
            for one in study.spec.parameters
        ]
        mark = " – the best" if trial is study.best else ""
        result = "–" if trial.result is None else words.number(trial.result)
        return [Cell(f"{number}{mark}", href), state, *values, Cell(result), Cell(took)]


def _importance_table(shares: dict[str, float]) -> Table:
    rows = [
        [Cell(name), Cell(f"{100 * share:.0f} %", share=100 * share)]
        for name, share in shares.items()
    ]
    note = (
        "The share of each parameter in how much the results differ, by Optuna's fANOVA."
        if rows
        else f"It needs {FEWEST} trials with results that differ."
        if find_spec("sklearn")
        else f"It cannot be computed {explain_missing('automl')}."
    )
    return Table("importance", "Importance", ("Parameter", "Share"), rows, note=note)


def _id(study: Study) -> str:
    return "" if study.cloud == SAGEMAKER else words.short(study.id)
