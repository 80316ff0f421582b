"""Jobs of N replicas as process groups: stage, start, watch, stop, collect. Knows no cloud."""
