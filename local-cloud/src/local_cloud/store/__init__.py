"""What must not be lost, on disk: objects as files, records in SQLite. Knows no cloud's names."""
