"""Google Cloud: its services, and what they share."""
