"""Is a machine ready for the lesson, and what its notebooks do at their start."""
