"""A trainer package for Vertex AI: `python -m trainer.task --help` lists its flags."""
