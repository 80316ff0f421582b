"""Amazon S3, a second dialect of the store."""
