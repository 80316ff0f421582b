"""Images of containers, as Python environments: which there are, and how one is pulled."""
