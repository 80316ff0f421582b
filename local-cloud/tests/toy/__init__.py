"""Services of the tests' own: each is this folder's file, and a line where services are listed."""
