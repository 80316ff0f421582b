"""Training jobs: what they run, leave behind and report."""
