"""Experiments and Tensorboards: the metadata store, the time series, and what jobs write there."""
