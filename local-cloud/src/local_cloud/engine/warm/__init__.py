"""Warm starts: replicas forked from a process with torch imported. `warm_start` is the way in."""
