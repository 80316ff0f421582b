"""AutoML: train several models on a table or on pictures, compare them, and keep the best.

No cloud's names are here. A service runs `train_tables` or `train_images` as a job of the engine.
"""
