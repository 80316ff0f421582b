"""Trial components: a stage of a trial, such as a run or a job, with parameters and artifacts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from local_cloud.amazon.sagemaker.experiments.memberships import Memberships
from local_cloud.amazon.sagemaker.experiments.metrics import ComponentMetrics
from local_cloud.amazon.sagemaker.resources.entities import Entities, Kind
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.json_types import Json
from local_cloud.store import readable

FACTS = ("Status", "StartTime", "EndTime")  # that a job has, too
COMPONENT = Kind(
    "TrialComponent",
    "experiment-trial-component",
    ("DisplayName", "TrialComponentSource", *FACTS, "CreatedBy", "LastModifiedBy"),
)
NAME = COMPONENT.name
MAPS = {"Parameters": 300, "InputArtifacts": 60, "OutputArtifacts": 60}  # and the most entries
JOB = "of-job"  # what was known of its job when that was deleted


class TrialComponents:
    """Trial components by name.

    That of a job shows, beside its own document, what the job's status, results and metrics are.
    """

    def __init__(
        self, entities: Entities, memberships: Memberships, metrics: ComponentMetrics
    ) -> None:
        """memberships: of trials; metrics: those that were put for the components."""
        self.entities, self.memberships, self.metrics = entities, memberships, metrics
        self._jobs: dict[str, Callable[[str], Json]] = {}

    def follow(self, kind: str, facts: Callable[[str], Json]) -> None:
        """Ask here for what is known of jobs of a kind ("training-job"), by name.

        facts: fields of a trial component, or {} of a job that is not there any more.
        """
        self._jobs[kind] = facts

    def create(self, request: Json) -> Json:
        """CreateTrialComponent."""
        return self.entities.create({"DisplayName": request[NAME]} | request, request[NAME])

    def describe(self, params: Json) -> Json:
        """DescribeTrialComponent."""
        return self.show(self.entities.get(params[NAME]))

    def update(self, params: Json) -> Json:
        """UpdateTrialComponent: entries of its maps are added, replaced and removed."""
        changes = dict(params)
        with self.entities.records.transaction():
            own = self.entities.get(changes.pop(NAME))
            of_job = self.job(own)
            for field, most in MAPS.items():
                entries = own.get(field, {}) | changes.pop(field, {})
                entries |= dict.fromkeys(changes.pop(f"{field}ToRemove", []))
                known = of_job.get(field, {})
                _require_room(field, known | entries, most=most)
                changes[field] = {
                    key: value
                    for key, value in entries.items()
                    if value is not None or key in known  # None: removed, though its job has it
                }
            return self.entities.change(own, changes)

    def delete(self, params: Json) -> Json:
        """DeleteTrialComponent: one that is in no trial."""
        component = self.entities.get(params[NAME])
        if trials := self.memberships.trials(component[NAME]):
            raise invalid(
                f"The trial component {component[NAME]} is associated with {', '.join(trials)}:"
                " disassociate it first (DisassociateTrialComponent)"
            )
        with self.entities.records.transaction():
            self.metrics.forget(component[NAME])
            return self.entities.delete(component)

    def page(self, params: Json, names: set[str] | None = None) -> Json:
        """Return a page of summaries, of the components with these names or of all."""
        components: Iterable[Json] = self.entities.all()
        if names is not None:
            components = [one for one in components if one[NAME].lower() in names]
        if source := params.get("SourceArn"):
            components = [one for one in components if source.lower() in _sources(one)]
        pairs = ((one[NAME], one) for one in components)
        shown = [*readable.each(NAME, pairs, lambda _, one: self.show(one))]
        for one in shown:
            if source := one.get("Source"):
                one["TrialComponentSource"] = source
        return self.entities.page(shown, params)

    def show(self, document: Json) -> Json:
        """Return a component as it is described, with its metrics."""
        component = self._merge(document)
        metrics = self.metrics.summaries(document[NAME], document[COMPONENT.arn])
        return component | {"Metrics": [*component.get("Metrics", []), *metrics]}

    def _merge(self, document: Json) -> Json:
        """Return the document with what is known of its job; the document's own fields win."""
        job = self.job(document)
        own = {field: value for field, value in document.items() if field != JOB}
        merged = job | own
        for field in MAPS:
            entries = job.get(field, {}) | own.get(field, {})
            merged[field] = _present(entries)
        return merged

    def job(self, document: Json) -> Json:
        """Return what is known of a component's job; {} if it has none."""
        if not (source := document.get("Source")):
            return {}
        kind, _, name = source["SourceArn"].rpartition(":")[2].partition("/")
        facts = self._jobs[kind](name)
        kept: Json = document.get(JOB, {})
        return facts or kept

    def leave(self, document: Json) -> None:
        """Keep what is known of a component's job, which is about to be deleted."""
        self.entities.change(document, {JOB: self.job(document)})


def _present(entries: Json) -> Json:
    """Return the entries of a map without those that were removed."""
    return {key: value for key, value in entries.items() if value is not None}


def _require_room(field: str, entries: Json, *, most: int) -> None:
    if len(_present(entries)) > most:
        raise invalid(f"{field}: a trial component can have {most} entries at most")


def _sources(document: Json) -> list[str]:
    """Return the ARNs of a component's jobs, in lower case: the SDK asks for them so."""
    sources = [*document.get("Sources", []), *filter(None, [document.get("Source")])]
    return [source["SourceArn"].lower() for source in sources]
