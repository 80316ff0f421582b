"""Jobs, studies, and what a job pays for its own root."""
