"""Models that another service registers: BigQuery ML's, which have no container here."""

from __future__ import annotations

from collections.abc import Callable

from local_cloud.google.projects import project_number
from local_cloud.google.vertex.models.registry import ModelRegistry

LOCATION = "us-central1"  # of what lies in BigQuery's location US


def by_bigquery(models: ModelRegistry) -> Callable[[str, str, str], None]:
    """Return what registers a model of BigQuery ML.

    It is given the model's project, its id in the registry and its name. A model with this id gets
    a new version. Raises ApiError for an id that is not valid.
    """

    def register(project: str, model_id: str, name: str) -> None:
        parent = f"projects/{project_number(project)}/locations/{LOCATION}"
        full = f"{parent}/models/{model_id}"
        model = {"displayName": name, "modelSourceInfo": {"sourceType": "BQML"}}
        if models.versions(full):
            models.add(parent, model, parent_model=full)
        else:
            models.add(parent, model, model_id=model_id)

    return register
