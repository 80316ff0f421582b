"""Google's own definitions of its REST APIs, and the check of requests against them."""
