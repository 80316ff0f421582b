"""Checkpoints, and tables that are larger than memory would like."""
