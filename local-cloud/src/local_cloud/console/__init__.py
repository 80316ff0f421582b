"""The console: the local cloud in a browser. It shows what is on record and asks the services."""
