"""Hyperparameter tuning jobs."""
