"""Amazon CloudWatch Logs: what the jobs' own log files hold."""
