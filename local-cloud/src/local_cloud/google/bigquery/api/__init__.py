"""The API's words: its errors, its types, its discovery document."""
