"""Trials: each is of one experiment, and has trial components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from local_cloud.amazon.sagemaker.experiments.components import TrialComponents
from local_cloud.amazon.sagemaker.resources.entities import Entities, Kind
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.json_types import Json

TRIAL = Kind("Trial", "experiment-trial", ("DisplayName",))
NAME, EXPERIMENT_NAME, COMPONENT_NAME = TRIAL.name, "ExperimentName", "TrialComponentName"


class Trials:
    """Trials by name."""

    def __init__(
        self, components: TrialComponents, entities: Entities, experiments: Entities
    ) -> None:
        """components: what trials consist of; experiments: what they belong to."""
        self.components, self.entities, self.experiments = components, entities, experiments
        self.memberships = components.memberships

    def create(self, request: Json) -> Json:
        """CreateTrial: in an experiment that is there."""
        name = request[NAME]
        experiment = self.experiments.get(request[EXPERIMENT_NAME])[EXPERIMENT_NAME]
        document = {"DisplayName": name} | request | {EXPERIMENT_NAME: experiment}
        return self.entities.create(document, name)

    def describe(self, params: Json) -> Json:
        """DescribeTrial."""
        return self.entities.get(params[NAME])

    def update(self, params: Json) -> Json:
        """UpdateTrial: its display name."""
        return self.entities.change(self.entities.get(params.pop(NAME)), params)

    def list(self, params: Json) -> Json:
        """ListTrials: all, those of an experiment, those that a component belongs to."""
        trials: Sequence[Json] = [*self.entities.all()]
        if experiment := params.get(EXPERIMENT_NAME):
            trials = self.of_experiment(self.experiments.get(experiment)[EXPERIMENT_NAME])
        if component := params.get(COMPONENT_NAME):
            self.components.entities.get(component)
            own = self.memberships.trials(component)
            trials = [trial for trial in trials if trial[NAME].lower() in own]
        return self.entities.page(trials, params)

    def delete(self, params: Json) -> Json:
        """DeleteTrial: one without components."""
        trial = self.entities.get(params[NAME])
        if self.memberships.components(trial[NAME]):
            raise invalid(
                f"The trial {trial[NAME]} has trial components: disassociate or delete them first"
                " (ListTrialComponents has them)"
            )
        return self.entities.delete(trial)

    def associate(self, params: Json) -> Json:
        """AssociateTrialComponent."""
        trial, component = self._trial(params), self._component(params)
        self.memberships.add(trial[NAME], component[COMPONENT_NAME])
        return _arns(trial, component)

    def disassociate(self, params: Json) -> Json:
        """DisassociateTrialComponent."""
        trial, component = self._trial(params), self._component(params)
        if not self.memberships.has(trial[NAME], component[COMPONENT_NAME]):
            raise invalid(
                f"The trial component {component[COMPONENT_NAME]} is not associated with the trial"
                f" {trial[NAME]}"
            )
        self.memberships.remove(trial[NAME], component[COMPONENT_NAME])
        return _arns(trial, component)

    def _trial(self, params: Json) -> Json:
        return self.entities.get(params[NAME])

    def _component(self, params: Json) -> Json:
        return self.components.entities.get(params[COMPONENT_NAME])

    def of_experiment(self, experiment: str) -> Sequence[Json]:
        """Return the trials of the experiment with this name."""
        return [one for one in self.entities.all() if one[EXPERIMENT_NAME] == experiment]

    def list_components(self, params: Json) -> Json:
        """ListTrialComponents: all, or by one of experiment, trial and source."""
        filters = [each for each in (EXPERIMENT_NAME, NAME, "SourceArn") if params.get(each)]
        if len(filters) > 1:
            raise invalid(f"Filter by one of {' and '.join(filters)}, not by both")
        names: set[str] | None = None
        if trial := params.get(NAME):
            names = self.memberships.components(self.entities.get(trial)[NAME])
        if experiment := params.get(EXPERIMENT_NAME):
            trials = self.of_experiment(self.experiments.get(experiment)[EXPERIMENT_NAME])
            names = {one for each in trials for one in self.memberships.components(each[NAME])}
        return self.components.page(params, names)

    def all(self) -> Iterator[Json]:
        """Yield the trials as Search shows them: with their components."""
        shown = (COMPONENT_NAME, "TrialComponentArn", "CreationTime", "CreatedBy")
        for trial in self.entities.all():
            names = sorted(self.memberships.components(trial[NAME]))
            components = [self.components.entities.get(name) for name in names]
            summaries = [
                {field: one[field] for field in shown}
                | ({"TrialComponentSource": one["Source"]} if "Source" in one else {})
                for one in components
            ]
            yield trial | {"TrialComponentSummaries": summaries}

    def all_components(self) -> Iterator[Json]:
        """Yield the trial components as Search shows them: with their trials and experiments."""
        for component in self.components.entities.all():
            parents = self._parents(component[COMPONENT_NAME])
            yield self.components.show(component) | {"Parents": parents}

    def _parents(self, component: str) -> Sequence[Json]:
        trials = [self.entities.get(name) for name in self.memberships.trials(component)]
        return [{field: trial[field] for field in (NAME, EXPERIMENT_NAME)} for trial in trials]


def _arns(trial: Json, component: Json) -> Json:
    return {"TrialArn": trial["TrialArn"], "TrialComponentArn": component["TrialComponentArn"]}
