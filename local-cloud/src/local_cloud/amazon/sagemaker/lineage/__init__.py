"""Lineage: contexts, actions, artifacts, and what led from one to the other."""
