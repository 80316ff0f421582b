"""Autopilot: jobs that search for a model of a table, and the program that does it."""
