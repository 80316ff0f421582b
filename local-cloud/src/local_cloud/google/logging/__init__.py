"""Cloud Logging's REST API, as far as command lines read the logs of jobs with it."""
