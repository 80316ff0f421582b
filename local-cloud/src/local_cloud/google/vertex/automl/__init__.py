"""AutoML: training pipelines that search for a model, its evaluation, and its server."""
