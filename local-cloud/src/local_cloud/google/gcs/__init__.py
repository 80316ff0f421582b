"""Cloud Storage's JSON API, as google-cloud-storage speaks it, on the store."""
