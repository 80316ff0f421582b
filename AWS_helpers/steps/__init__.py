"""The scripts that the processing steps of the lesson's pipeline run, each in a job of its own."""
