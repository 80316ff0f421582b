"""Endpoints, predictions and transform jobs."""
