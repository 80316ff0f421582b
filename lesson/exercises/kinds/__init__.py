"""The kinds of exercises, apart from the exercises of the episodes."""
