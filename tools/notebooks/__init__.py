"""From the episodes to the notebooks."""
