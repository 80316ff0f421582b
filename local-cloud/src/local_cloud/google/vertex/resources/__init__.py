"""Resources by name: requests, documents, answers and errors, and what is billed."""
