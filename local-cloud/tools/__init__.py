"""Commands for those who work on the local cloud."""
