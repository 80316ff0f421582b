"""What a notebook, a script or a job loads. Standard library only, beside `errors`."""
