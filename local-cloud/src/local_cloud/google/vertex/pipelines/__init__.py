"""Pipeline jobs: what kfp compiles is read, run task by task, and kept on record."""
