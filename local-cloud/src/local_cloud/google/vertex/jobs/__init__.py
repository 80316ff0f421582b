"""Custom jobs, and the training pipelines that run one."""
