"""Experiments: groups of trials.

Source of the rules here and in trials.py and components.py: botocore's model of the API and the
texts of its operations (read 2026); the words of refusals are those that version 2 of the SDK
looks for.
"""

from __future__ import annotations

from local_cloud.amazon.sagemaker.experiments.trials import Trials
from local_cloud.amazon.sagemaker.resources.entities import Entities, Kind
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.json_types import Json

EXPERIMENT = Kind("Experiment", "experiment", ("DisplayName",))
NAME = EXPERIMENT.name


class Experiments:
    """Experiments by name."""

    def __init__(self, trials: Trials, entities: Entities) -> None:
        """trials: which belong to experiments."""
        self.trials, self.entities = trials, entities

    def create(self, request: Json) -> Json:
        """CreateExperiment."""
        return self.entities.create({"DisplayName": request[NAME]} | request, request[NAME])

    def describe(self, params: Json) -> Json:
        """DescribeExperiment."""
        return self.entities.get(params[NAME])

    def update(self, params: Json) -> Json:
        """UpdateExperiment: its display name and its description."""
        return self.entities.change(self.entities.get(params.pop(NAME)), params)

    def list(self, params: Json) -> Json:
        """ListExperiments."""
        return self.entities.page(self.entities.all(), params)

    def delete(self, params: Json) -> Json:
        """DeleteExperiment: one without trials."""
        experiment = self.entities.get(params[NAME])
        if self.trials.of_experiment(experiment[NAME]):
            raise invalid(
                f"The experiment {experiment[NAME]} has trials: delete them first"
                " (ListTrials has them)"
            )
        return self.entities.delete(experiment)
