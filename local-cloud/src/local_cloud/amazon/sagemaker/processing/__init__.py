"""Processing jobs: what a request may ask for, and how the engine runs one."""
