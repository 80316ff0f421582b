"""The lesson's environment, which any Python from 3.8 makes before anything is installed."""
