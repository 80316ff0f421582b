"""Pipelines: definitions, executions, and their steps."""
