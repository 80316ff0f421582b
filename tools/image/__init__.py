"""The lesson's own images, for jobs and endpoints on the real services."""
