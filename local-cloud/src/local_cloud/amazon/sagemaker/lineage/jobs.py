"""What SageMaker tracks of each job by itself: a trial component, and artifacts connected with it.

Sources: "Amazon SageMaker AI-created tracking entities" in the developer guide (which properties of
a job are artifacts), ExperimentConfig in the API reference, and for the names of components the
visualizer of the SDK's lineage (all read 2026).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from local_cloud.amazon.sagemaker.experiments.components import NAME, TrialComponents
from local_cloud.amazon.sagemaker.experiments.trials import Trials
from local_cloud.amazon.sagemaker.lineage.associations import Associations
from local_cloud.amazon.sagemaker.lineage.entities import Artifacts
from local_cloud.json_types import Json

Artifact = tuple[str, str]  # the URI of its source, and its type
DATA, IMAGE, MODEL, CHECKPOINT = "DataSet", "Image", "Model", "Checkpoint"  # LineageSourceEnum


@dataclass(frozen=True)
class TrackedJob:
    """A job as it is sent."""

    arn: str
    source_type: str  # "SageMakerTrainingJob"
    inputs: Sequence[Artifact]
    outputs: Sequence[Artifact] = ()  # whose URIs are known before it ends
    experiment: Json = field(default_factory=dict)  # ExperimentConfig

    @property
    def name(self) -> str:
        """Return the job's name."""
        return self.arn.rpartition("/")[2]

    @property
    def component(self) -> str:
        """Return the name of its trial component."""
        kind = self.arn.rpartition(":")[2].partition("/")[0]
        return f"{self.name}-aws-{kind}"


class JobLineage:
    """Makes what is tracked of jobs; each call is part of a transaction of the job's own."""

    def __init__(self, trials: Trials, artifacts: Artifacts, associations: Associations) -> None:
        """Take where components, artifacts and associations are kept."""
        self.trials, self.artifacts, self.associations = trials, artifacts, associations

    @property
    def components(self) -> TrialComponents:
        """Return the trial components."""
        return self.trials.components

    def begin(self, job: TrackedJob) -> None:
        """Track a job; raises ServiceError for an experiment or a trial that is not there."""
        source = {"SourceArn": job.arn, "SourceType": job.source_type}
        entities, known = self.components.entities, self.components.entities.find(job.component)
        if known:
            if known.get("Source") != source:  # somebody has made one with this name
                return
            entities.delete(known)  # that of an earlier job with this name
        document: Json = {NAME: job.component, "Source": source}
        if shown := job.experiment.get("TrialComponentDisplayName"):
            document["DisplayName"] = shown
        if run := job.experiment.get("RunName"):
            document["RunName"] = run
            self._add_source(run, source)
        made: str = self.components.create(document)["TrialComponentArn"]
        self._associate(job)
        for uri, artifact_type in job.inputs:
            self._connect(self.artifacts.ensure(uri, artifact_type), made, "ContributedTo")
        for uri, artifact_type in job.outputs:
            self.record_output(job.component, uri, artifact_type)

    def record_output(self, component: str, uri: str, artifact_type: str) -> None:
        """Record what a job has left, as an artifact that its component produced."""
        if known := self.components.entities.find(component):
            made = self.artifacts.ensure(uri, artifact_type)
            self._connect(known["TrialComponentArn"], made, "Produced")

    def leave(self, component: str) -> None:
        """Keep in a component what is known of its job, which is about to be deleted."""
        if known := self.components.entities.find(component):
            self.components.leave(known)

    def _associate(self, job: TrackedJob) -> None:
        """Add the component to the trial or, if only an experiment is named, to a new trial."""
        experiment, trial = (job.experiment.get(f"{each}Name") for each in ("Experiment", "Trial"))
        if experiment:
            self.trials.experiments.get(experiment)
        if experiment and not trial:
            # How the service names it is not public; the job's name is free among the trials of
            # all but a deleted job's.
            trial = f"{job.component}-trial"
            if not self.trials.entities.find(trial):
                self.trials.create({"TrialName": trial, "ExperimentName": experiment})
        if trial:
            self.trials.associate({"TrialName": trial, NAME: job.component})

    def _add_source(self, run: str, source: Json) -> None:
        """Name the job among the sources of the run that it works for."""
        if known := self.components.entities.find(run):
            sources = [each for each in known.get("Sources", []) if each != source]
            self.components.entities.change(known, {"Sources": [*sources, source]})

    def _connect(self, source: str, destination: str, association: str) -> None:
        """Associate two entities, unless they are associated already."""
        if not self.associations.find(source, destination):
            self.associations.add(
                {
                    "SourceArn": source,
                    "DestinationArn": destination,
                    "AssociationType": association,
                }
            )
