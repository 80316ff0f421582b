"""What a container of an instance has: /opt/ml, the toolkit, the drivers."""
