"""What a job's `tensorboard`, `experiment` and `experimentRun` ask for."""

from __future__ import annotations

import re
from typing import Any

from local_cloud.bounded import process
from local_cloud.bounded.errors import CannotRead
from local_cloud.bounded.limits import Limits
from local_cloud.engine.logs import job_files
from local_cloud.engine.spec import State
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.jobs.launch import folders
from local_cloud.google.vertex.resources.documents import number_project
from local_cloud.google.vertex.resources.schema import require, timestamp
from local_cloud.google.vertex.tracking import event_files
from local_cloud.google.vertex.tracking.metadata import Metadata
from local_cloud.google.vertex.tracking.tensorboards import Tensorboards
from local_cloud.json_types import Json
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records

DEFAULT_RUN = "default"  # of event files in the log folder itself: the SDK's uploader names it so
EVENTS = Limits(memory=1 << 30, seconds=300, answer=64 << 20)  # of reading a job's event files
# How the SDK tells such experiments from those of `aiplatform.init(experiment=…)`, which it lists:
# metadata/constants.py, TENSORBOARD_CUSTOM_JOB_EXPERIMENT_FIELD.
LINK = "tensorboard_link"
ENDED = {State.SUCCEEDED: "COMPLETE", State.FAILED: "FAILED", State.STOPPED: "CANCELLED"}


class TrackedJobs:
    """Checks the fields before a job is queued, and takes up what it has written when it ends."""

    def __init__(
        self,
        records: Records,
        objects: Objects,
        metadata: Metadata,
        *,
        tensorboards: Tensorboards,
        hidden: bytes,
    ) -> None:
        """Keep the service's records and objects; hidden: what nobody is to read in names."""
        self.records, self._hidden = records, hidden
        self.objects = objects
        self.metadata = metadata
        self.tensorboards = tensorboards

    # ---- before the job ---------------------------------------------------------------------
    def check(self, spec: Json) -> None:
        """Check the fields of a CustomJobSpec, and that what they name is there."""
        for field in ("tensorboard", "experiment"):
            require(
                field not in spec or spec.get("serviceAccount"),
                f"jobSpec.serviceAccount: required with {field}",
            )
        if "tensorboard" in spec:
            require("baseOutputDirectory" in spec, "jobSpec.tensorboard: needs baseOutputDirectory")
            self.tensorboards.boards.get(number_project(spec["tensorboard"]))
        require(
            "experiment" in spec or "experimentRun" not in spec,
            "jobSpec.experimentRun: needs experiment",
        )
        for field, title in (
            ("experiment", "system.Experiment"),
            ("experimentRun", "system.ExperimentRun"),
        ):
            if field in spec:
                schema = self.metadata.contexts.get(number_project(spec[field])).get("schemaTitle")
                require(schema == title, f"jobSpec.{field}: {spec[field]} is no {title}")

    def begin(self, job: Json) -> None:
        """Give a job of an experiment but of no run a run, named by the job's id."""
        spec = job["jobSpec"]
        if "experiment" not in spec or "experimentRun" in spec:
            return
        experiment = number_project(spec["experiment"])
        job_id = job["name"].rpartition("/")[2]
        spec["experimentRun"] = self._run_context(experiment, job_id, job_id)

    def _run_context(self, experiment: str, run_id: str, name: str) -> str:
        """Return the name of the context that is this run of an experiment.

        It is made if need be.
        """
        store, _, experiment_id = experiment.partition("/contexts/")
        context = f"{store}/contexts/{experiment_id}-{run_id}"
        if not self.records.get(self.metadata.contexts.kind, context):
            body = {
                "displayName": name,
                "schemaTitle": "system.ExperimentRun",
                "schemaVersion": "0.0.1",
                "metadata": {"_params": {}, "_metrics": {}, "_state": "RUNNING"},
            }
            self.metadata.create(
                self.metadata.contexts, store, body, chosen=f"{experiment_id}-{run_id}"
            )
        self.metadata.add_children(experiment, {"childContexts": [context]})
        return context

    # ---- after the job ----------------------------------------------------------------------
    def end(self, document: Json, state: State) -> str:
        """Take up the job's events and end its runs; returns what went wrong, in words.

        A second call, after a server's end in the first, does no more than the first should have.
        """
        spec = document["resource"]["jobSpec"]
        runs = [spec["experimentRun"]] if "experimentRun" in spec else []
        problem = ""
        if "tensorboard" in spec:
            try:
                runs += self._take_up(document)
            except (ApiError, CannotRead, StoreError, OSError, ValueError) as error:
                problem = f"the events could not be taken up into {spec['tensorboard']}: {error}"
        for name in map(number_project, runs):
            context = self.records.get(self.metadata.contexts.kind, name)
            if context and context.get("metadata", {}).get("_state") == "RUNNING":
                changed = context["metadata"] | {"_state": ENDED[state]}
                self.metadata.contexts.patch(name, {"metadata": changed}, "")
        return problem

    def _take_up(self, document: Json) -> list[str]:
        """Read the event files below AIP_TENSORBOARD_LOG_DIR; returns the runs' contexts."""
        job = document["resource"]
        spec = job["jobSpec"]
        where = folders(spec["baseOutputDirectory"]["outputUriPrefix"])["AIP_TENSORBOARD_LOG_DIR"]
        bucket, _, prefix = where.removeprefix("gs://").partition("/")
        paths: dict[str, list[str]] = {}
        for one in self.objects.list(bucket, prefix):
            folder, _, file = one.name.removeprefix(prefix).rpartition("/")
            if "tfevents" in file:
                paths.setdefault(folder or DEFAULT_RUN, []).append(str(one.path))
        # All trials of a tuning job are runs of one experiment; the SDK links to it by this name.
        owner = document.get("tuning") or job["name"]
        experiment = _Experiment(
            self, owner, number_project(spec["tensorboard"]), display=job["displayName"]
        )
        names = set()
        for line in process.call(event_files.read, paths, limits=EVENTS) if paths else ():
            run = "/".join(filter(None, [str(document.get("trial", "")), line["run"]]))
            run, tag = (job_files.mask(name, self._hidden) for name in (run, line["tag"]))
            names.add(experiment.add(run, tag, line["points"]))
        return sorted(names)


class _Experiment:
    """A job's experiment in a Tensorboard, made when it is first written to."""

    def __init__(self, tracking: TrackedJobs, owner: str, board: str, *, display: str) -> None:
        self.tracking = tracking
        self.boards = tracking.tensorboards
        self.id = owner.rpartition("/")[2]
        self.name = f"{board}/experiments/{self.id}"
        parent = "/".join(owner.split("/")[:4])
        self.store = f"{parent}/metadataStores/default"
        with tracking.records.transaction():
            if not tracking.records.get(self.boards.experiments.kind, self.name):
                self.boards.create_child(
                    self.boards.experiments, board, body={"displayName": display}, chosen=self.id
                )
            self._context(parent, display)

    def _context(self, parent: str, display: str) -> None:
        metadata = self.tracking.metadata
        if not metadata.records.get(metadata.stores.kind, self.store):
            metadata.create_store(parent, {}, "default")
        self.context = f"{self.store}/contexts/{self.id}"
        if not metadata.records.get(metadata.contexts.kind, self.context):
            body = {
                "displayName": display,
                "schemaTitle": "system.Experiment",
                "schemaVersion": "0.0.1",
                "metadata": {LINK: self.name},
            }
            metadata.create(metadata.contexts, self.store, body, chosen=self.id)

    def add(self, folder: str, tag: str, points: list[list[Any]]) -> str:
        """Record a series of the run in this folder; returns the run's context."""
        run_id = re.sub(r"[^a-z0-9-]", "-", folder.lower())[:100]
        run = f"{self.name}/runs/{run_id}"
        with self.tracking.records.transaction():
            if not self.tracking.records.get(self.boards.runs.kind, run):
                self.boards.create_child(
                    self.boards.runs, self.name, body={"displayName": folder}, chosen=run_id
                )
            known = {one["displayName"]: one for one in self.boards.series.children(run)}
            wanted = {"displayName": tag, "valueType": "SCALAR", "pluginName": "scalars"}
            series = known.get(tag) or self.boards.create_child(
                self.boards.series, run, body=wanted, chosen=""
            )
            self.boards.points.add(
                series,
                [
                    {
                        "step": str(step),
                        "wallTime": timestamp(seconds),
                        "scalar": {"value": value},
                    }
                    for step, seconds, value in points
                ],
            )
            return self.tracking._run_context(self.context, run_id, folder)
