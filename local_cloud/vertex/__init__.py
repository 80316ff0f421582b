"""Vertex AI's REST API, as google-cloud-aiplatform speaks it, on the engine and the store."""

from local_cloud.vertex.errors import ApiError, render
from local_cloud.vertex.jobs import Training
from local_cloud.vertex.routes import routes

__all__ = ["ApiError", "Training", "render", "routes"]
