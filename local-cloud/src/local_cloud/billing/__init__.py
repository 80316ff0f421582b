"""The bill: what the same seconds and bytes would have cost on the real services."""
