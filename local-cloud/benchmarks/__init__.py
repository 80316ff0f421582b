"""Measurements against what a reader would pick instead; README.md has the results."""
