"""Amazon Web Services: their services, and the protocols that they share."""
