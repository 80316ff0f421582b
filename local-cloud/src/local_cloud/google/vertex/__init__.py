"""Vertex AI's REST API, as google-cloud-aiplatform speaks it, on the engine and the store."""

from local_cloud.google.vertex.resources import messages

messages.load()
