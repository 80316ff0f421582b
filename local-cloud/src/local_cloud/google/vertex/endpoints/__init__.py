"""Endpoints, predictions and batch predictions."""
