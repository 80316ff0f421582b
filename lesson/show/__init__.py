"""What notebooks and terminals show: progress, curves, plots, tables, TensorBoard."""
