"""Studies of Vizier: searches whose trials the client runs.

Sources: types/study.py and types/vizier_service.py of the client library.
"""

from __future__ import annotations

from typing import Any

from google.cloud.aiplatform_v1.types import LookupStudyRequest, Study

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.google.vertex.resources.schema import parse_message
from local_cloud.google.vertex.vizier.study_config import StudyConfig
from local_cloud.google.vertex.vizier.trials import Trials
from local_cloud.json_types import Json
from local_cloud.store.records import Records


class VizierStudies(Collection):
    """The studies, and the trials in them."""

    def __init__(self, records: Records) -> None:
        """Keep them in `records`."""
        super().__init__(records, "studies", Study)
        self.trials = Trials(records, self)

    def create(self, parent: str, body: Json, chosen: str = "", **more: Any) -> Json:
        """Create a study; ALREADY_EXISTS if the location has one of this display name."""
        with self.records.transaction():
            name = body.get("displayName") or body.get("display_name", "")
            if self._find(parent, name):
                raise ApiError("ALREADY_EXISTS", f"There is a study {name!r} in {parent} already.")
            study = super().create(parent, body, chosen, state="ACTIVE", **more)
            StudyConfig.of(study)
        return study

    def lookup(self, parent: str, body: Json) -> Json:
        """studies:lookup: find a study by its display name."""
        name = parse_message(LookupStudyRequest, body).get("displayName", "")
        if study := self._find(parent, name):
            return study
        raise ApiError("NOT_FOUND", f"There is no study {name!r} in {parent}.")

    def _find(self, parent: str, display_name: str) -> Json | None:
        studies = (one for one in self.children(parent) if one["displayName"] == display_name)
        return next(studies, None)

    def delete(self, name: str, etag: str = "") -> None:
        """Delete a study with its trials."""
        with self.records.transaction():
            super().delete(name, etag)
            self.trials.delete_all(name)
