"""The model registry, and the server of prebuilt images."""
