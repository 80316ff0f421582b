"""Files beside the code."""
