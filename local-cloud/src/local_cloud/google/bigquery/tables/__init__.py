"""Requests about datasets and tables."""
