"""Measurements against what a reader would pick instead; see README.md for results and reading."""
