"""S3 and BigQuery by the services' own clients."""
