"""Failures on purpose: kept until something meets them."""
