"""Models of both clouds, of which some get another display name."""

from __future__ import annotations

import json

from testing.tally import Tally
from tests.torture.rig import IMAGE, PARENT, ROLE
from tests.torture.writers.acknowledgements import Key
from tests.torture.writers.writer import Writer


class ModelWriter(Writer):
    """A model of Vertex AI has the path of its resource as its key, SageMaker's its name."""

    kind = "model"

    def write(self, count: int) -> None:
        """Make a model in each cloud; every other time give Vertex AI's another name."""
        name = f"model-{self.number}-{count}"
        model = {"displayName": name, "containerSpec": {"imageUri": IMAGE}}
        operation = self.ask("POST", f"{PARENT}/models:upload", {"model": model})
        path = f"/v1/{operation['response']['model']}"
        self.acknowledged.keep(path, name)
        if count % 2:
            with self.acknowledged.write({path: f"{name}-changed"}):
                new = {"displayName": f"{name}-changed"}
                self.send("PATCH", f"{path}?updateMask=displayName", new)
        body = {"ModelName": name, "ExecutionRoleArn": ROLE, "PrimaryContainer": {"Image": IMAGE}}
        with self.acknowledged.write({name: IMAGE}):
            self.ask("POST", "/aws/", body, **{"X-Amz-Target": "SageMaker.CreateModel"})

    def compare(self, tally: Tally) -> None:
        """Ask for each model."""
        self.acknowledged.compare(self._find, tally)

    def _find(self, key: Key) -> object:
        """Return a model's display name, or its image; None if there is no such model."""
        if str(key).startswith("/"):
            return self.rig.get(str(key))["displayName"]
        status, content = self.rig.sagemaker("DescribeModel", {"ModelName": key})
        return json.loads(content)["PrimaryContainer"]["Image"] if status == 200 else None
