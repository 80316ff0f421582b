"""Studies of Vertex AI Vizier, whose trials the client runs."""
