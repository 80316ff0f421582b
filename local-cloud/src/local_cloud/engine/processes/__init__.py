"""Processes: how a replica becomes one, and how those of a job or of a killed server end."""
