"""Trials of Vizier's studies: suggested, measured by the client, and completed.

Sources: types/study.py and types/vizier_service.py of the client library.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from google.cloud.aiplatform_v1.types import (
    AddTrialMeasurementRequest,
    CompleteTrialRequest,
    SuggestTrialsRequest,
    Trial,
)

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources import documents
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.google.vertex.resources.schema import (
    parse_message,
    require,
    timestamp,
    timestamp_after,
)
from local_cloud.google.vertex.vizier import measurements, stopping, suggestions
from local_cloud.google.vertex.vizier.study_config import StudyConfig
from local_cloud.json_types import Json
from local_cloud.store.records import Records

NUMBERS = "vertex-trial-number"  # records of the number of each study's latest trial
ENDED = ("SUCCEEDED", "INFEASIBLE")
MOST_AT_ONCE = 1000  # suggestions of a request: each is a search


class Trials:
    """The trials of all studies; numbers count up, also where trials were deleted."""

    def __init__(self, records: Records, studies: Collection) -> None:
        """studies: in which they are."""
        self.records, self._studies = records, studies
        self._kind = Collection(records, "trials", Trial)
        self._asked = threading.Lock()  # two clients that ask together get different trials

    # ---- reading and deleting -------------------------------------------------------------------
    def get(self, name: str) -> Json:
        """Return the trial of this name, or NOT_FOUND."""
        return self._kind.get(name)

    def all(self, study: str) -> list[Json]:
        """Return the trials of a study in the order in which they were made."""
        return sorted(self._kind.children(study), key=lambda trial: int(trial["id"]))

    def page(self, study: str, query: dict[str, str]) -> Json:
        """Return one page of a study's trials."""
        self._studies.get(study)
        trials, token = documents.paginate(self.all(study), query)
        return {"trials": trials, "nextPageToken": token}

    def optimal(self, study: str) -> Json:
        """trials:listOptimalTrials: the best one, or the Pareto-optimal ones."""
        config = StudyConfig.of(self._studies.get(study))
        return {"optimalTrials": measurements.optimal(self.all(study), config)}

    def delete(self, name: str) -> None:
        """Delete a trial; the search does not know of it any more."""
        self._kind.delete(name)

    def delete_all(self, study: str) -> None:
        """Forget what is on record of a study's trials."""
        self._kind.delete_below(study)
        self.records.delete(NUMBERS, study)

    # ---- new trials -----------------------------------------------------------------------------
    def create(self, study: str, body: Json) -> Json:
        """Add a trial that the client has made up: to be suggested later, or already completed."""
        config = StudyConfig.of(self._studies.get(study))
        sent = parse_message(Trial, body, "trial", output_only=())
        for place, one in enumerate(sent.get("measurements", [])):
            measurements.check(one, config, f"trial.measurements[{place}]")
        parameters = suggestions.write(config.read_values(sent.get("parameters", []), "trial"))
        kept: Json = {name: sent[name] for name in ("clientId", "measurements") if name in sent}
        facts: Json = {"state": "REQUESTED", "parameters": parameters, **kept}
        if sent.get("state") == "SUCCEEDED":
            final = sent.get("finalMeasurement", {})
            _check_final(final, config, "trial.finalMeasurement")
            ended = timestamp(time.time())
            facts |= {"state": "SUCCEEDED", "finalMeasurement": final, "endTime": ended}
        elif sent.get("state") == "INFEASIBLE":
            reason = sent.get("infeasibleReason", "")
            facts |= {"state": "INFEASIBLE", "infeasibleReason": reason}
            facts["endTime"] = timestamp(time.time())
        return self._add(study, facts)

    def suggest(self, study: str, body: Json) -> Json:
        """trials:suggest, answered with an operation that has ended."""
        request = parse_message(SuggestTrialsRequest, body | {"parent": study})
        count, client = int(request.get("suggestionCount", 0)), request.get("clientId", "")
        require(0 < count <= MOST_AT_ONCE, f"suggestionCount: {count}; from 1 to {MOST_AT_ONCE}")
        require(client, "clientId: required")
        config = StudyConfig.of(self._studies.get(study))
        contexts = suggestions.read_contexts(request, config, count)
        begun, suggested = timestamp(time.time()), list[Json]()
        with self._asked:
            for fixed in contexts:
                trial = self._find_unfinished(
                    study, client, fixed, config=config, suggested=suggested
                )
                trial = trial or self._new(study, client, fixed, config=config)
                if trial is None:
                    break
                suggested.append(trial)
        response = {
            "@type": f"{documents.TYPES}SuggestTrialsResponse",
            "trials": suggested,
            "studyState": self._studies.get(study)["state"],
            "startTime": begun,
            "endTime": timestamp(time.time()),
        }
        return documents.record_operation(
            self.records,
            study,
            response,
            metadata="SuggestTrialsMetadata",
            facts={"clientId": client},
        )

    def _find_unfinished(
        self, study: str, client: str, fixed: Json, *, config: StudyConfig, suggested: list[Json]
    ) -> Json | None:
        """Return a trial that the client has not completed, or one that waits for a client."""
        taken = [trial["name"] for trial in suggested]
        left = [trial for trial in self.all(study) if trial["name"] not in taken]
        for trial in left:
            mine = trial["state"] == "ACTIVE" and trial.get("clientId") == client
            if mine and suggestions.agree(trial, fixed, config):
                return trial
        for trial in left:
            waits = trial["state"] == "REQUESTED" and trial.get("clientId", client) == client
            if waits and suggestions.agree(trial, fixed, config):
                return self._activate(trial, client, fixed, config=config)
        return None

    def _activate(
        self, trial: Json, client: str, fixed: Json, *, config: StudyConfig
    ) -> Json | None:
        """Hand a trial that waited to a client; values that it lacks are suggested."""
        fixed = fixed | config.read_values(trial["parameters"], "trial")
        others = [each for each in self.all(_study_of(trial)) if each["id"] != trial["id"]]
        values = suggestions.choose(others, config, fixed)
        if values is None:
            return None
        return self._change(
            trial["name"],
            lambda _: {
                "state": "ACTIVE",
                "clientId": client,
                "parameters": suggestions.write(values),
                "startTime": timestamp(time.time()),
            },
        )

    def _new(self, study: str, client: str, fixed: Json, *, config: StudyConfig) -> Json | None:
        """Return a new trial; None: the study has ended, or does so now."""
        document, trials = self._studies.get(study), self.all(study)
        if document["state"] != "ACTIVE":
            return None
        is_over = stopping.is_over(document, trials, config, now=time.time())
        values = None if is_over else suggestions.choose(trials, config, fixed)
        if values is None:
            if is_over or not fixed:  # nothing is left in the whole space
                self._complete_study(study, config)
            return None
        now = timestamp(time.time())
        parameters = suggestions.write(values)
        facts = {"state": "ACTIVE", "clientId": client, "startTime": now, "parameters": parameters}
        return self._add(study, facts)

    def _add(self, study: str, facts: Json) -> Json:
        """Record a trial under the next number."""
        with self.records.transaction():
            self._studies.get(study)  # it is still there
            number = (self.records.get(NUMBERS, study) or {"last": 0})["last"] + 1
            trial = {"name": f"{study}/trials/{number}", "id": str(number), **facts}
            self.records.put(NUMBERS, study, {"last": number})
            self.records.put(self._kind.kind, trial["name"], trial)
        return trial

    def _complete_study(self, name: str, config: StudyConfig) -> None:
        """End a study, and with shouldStopAsap its trials."""
        with self.records.transaction():
            study = self._studies.get(name)
            self.records.put(self._studies.kind, name, study | {"state": "COMPLETED"})
            if config.spec.get("studyStoppingConfig", {}).get("shouldStopAsap"):
                for trial in self.all(name):
                    if trial["state"] == "ACTIVE":
                        self.records.put(
                            self._kind.kind, trial["name"], trial | {"state": "STOPPING"}
                        )

    # ---- what becomes of them -------------------------------------------------------------------
    def add_measurement(self, name: str, body: Json) -> Json:
        """:addTrialMeasurement of a trial that has not ended."""
        request = parse_message(AddTrialMeasurementRequest, body | {"trialName": name})
        one = request.get("measurement", {})

        def add(trial: Json) -> Json:
            measurements.check(one, self._config(trial), "measurement")
            known = [*trial.get("measurements", []), one]
            known.sort(key=lambda each: (measurements.step(each), measurements.seconds(each)))
            return {"measurements": known}

        return self._change(name, add)

    def complete(self, name: str, body: Json) -> Json:
        """:complete a trial: with its final measurement, with one that it has added, or without."""
        request = parse_message(CompleteTrialRequest, body, output_only=())
        infeasible = request.get("trialInfeasible", False)
        reason = request.get("infeasibleReason", "")
        require(infeasible or not reason, "infeasibleReason: only with trialInfeasible")

        def end(trial: Json) -> Json:
            config = self._config(trial)
            final = request.get("finalMeasurement", measurements.choose(trial, config))
            facts: Json = {"endTime": timestamp_after(trial)}
            if infeasible:
                return facts | {"state": "INFEASIBLE", "infeasibleReason": reason}
            if final is None:
                why = "The trial was completed without a measurement."
                return facts | {"state": "INFEASIBLE", "infeasibleReason": why}
            _check_final(final, config, "finalMeasurement")
            return facts | {"state": "SUCCEEDED", "finalMeasurement": final}

        return self._change(name, end)

    def stop(self, name: str) -> Json:
        """:stop: tell the client that a trial should stop; the client completes it."""
        return self._change(name, lambda _: {"state": "STOPPING"})

    def check_early_stopping(self, name: str) -> Json:
        """:checkTrialEarlyStoppingState, answered with an operation that has ended."""
        trial = self.get(name)
        study = _study_of(trial)
        config = StudyConfig.of(self._studies.get(study))
        if measurements.should_stop(trial, self.all(study), config):
            trial = self.stop(name)
        response = {
            "@type": f"{documents.TYPES}CheckTrialEarlyStoppingStateResponse",
            "shouldStop": trial["state"] == "STOPPING",
        }
        return documents.record_operation(
            self.records,
            name,
            response,
            metadata="CheckTrialEarlyStoppingStateMetatdata",  # the service's own spelling
            facts={"study": study, "trial": name},
        )

    def _change(self, name: str, change: Callable[[Json], Json]) -> Json:
        """Change a trial that has not ended."""
        with self.records.transaction():
            trial = self.get(name)
            if trial["state"] in ENDED:
                raise ApiError("FAILED_PRECONDITION", f"{name} has ended: {trial['state']}.")
            trial |= change(trial)
            self.records.put(self._kind.kind, name, trial)
        return trial

    def _config(self, trial: Json) -> StudyConfig:
        return StudyConfig.of(self._studies.get(_study_of(trial)))


def _study_of(trial: Json) -> str:
    name: str = trial["name"]
    return name.partition("/trials/")[0]


def _check_final(final: Any, config: StudyConfig, where: str) -> None:
    """Refuse a final measurement that lacks one of the study's metrics."""
    measurements.check(final, config, where)
    missing = [name for name in config.goals if name not in measurements.values(final)]
    require(not missing, f"{where}.metrics: {', '.join(missing)} is missing")
