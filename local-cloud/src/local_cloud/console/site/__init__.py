"""What all pages share: the session's check, the requests, the words, the tables."""
