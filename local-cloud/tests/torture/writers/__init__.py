"""Clients that write one kind of thing each while the server is killed, and compare afterwards."""
