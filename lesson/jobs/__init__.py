"""What both clouds' verbs share about jobs: requests, states, watching, rows, studies."""
