"""What all resources share: names, lists, tags, checks, and what is billed."""
