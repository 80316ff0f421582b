"""Predictions through an endpoint."""
