"""Several processes that train one network."""
