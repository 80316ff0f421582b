"""Models, model packages, and the server of prebuilt images."""
