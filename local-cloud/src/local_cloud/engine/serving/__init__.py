"""Deployments of models: replicas that are replaced, added and taken away, and their requests."""
