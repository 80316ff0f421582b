"""Vizier's studies, and trials in them that end with a measurement."""

from __future__ import annotations

from testing.tally import Tally
from tests.torture.rig import PARENT
from tests.torture.writers.acknowledgements import Key
from tests.torture.writers.writer import Writer

TRIALS = 10  # of a study
SPEC = {
    "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
    "parameters": [{"parameterId": "x", "doubleValueSpec": {"minValue": 0, "maxValue": 10}}],
}


class StudyWriter(Writer):
    """A study has its name as its value, a trial its state and what was measured."""

    kind = "study or trial"
    study = ""  # the path of the newest one

    def write(self, count: int) -> None:
        """Make a trial and complete it, now and then in a new study."""
        if count % TRIALS == 1 or not self.study:
            name = f"study-{self.number}-{count}"
            made = self.ask("POST", f"{PARENT}/studies", {"displayName": name, "studySpec": SPEC})
            self.study = f"/v1/{made['name']}"
            self.acknowledged.keep(self.study, name)
        value = self.chosen.random() * 10
        wanted = {"parameters": [{"parameterId": "x", "value": value}]}
        path = f"/v1/{self.ask('POST', f'{self.study}/trials', wanted)['name']}"
        self.acknowledged.keep(path, ("REQUESTED", value, None))
        with self.acknowledged.write({path: ("SUCCEEDED", value, float(count))}):
            measured = {"metrics": [{"metricId": "loss", "value": count}]}
            self.ask("POST", f"{path}:complete", {"finalMeasurement": measured})

    def compare(self, tally: Tally) -> None:
        """Ask for each study and each trial."""
        self.acknowledged.compare(self._find, tally)

    def _find(self, path: Key) -> object:
        resource = self.rig.get(str(path))
        if "displayName" in resource:
            return resource["displayName"]
        metrics = resource.get("finalMeasurement", {}).get("metrics", [{}])
        return resource["state"], resource["parameters"][0]["value"], metrics[0].get("value")
