"""Amazon SageMaker: training jobs on the engine; notebook instances as records."""
