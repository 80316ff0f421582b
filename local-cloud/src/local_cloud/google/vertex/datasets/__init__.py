"""Managed datasets: their records, their pictures, and how they are split for a training."""
