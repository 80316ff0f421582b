"""What both clouds' verbs share about their services: sessions, buckets, images, endpoints."""
