"""The pages as they are read: their blocks and links, the ways through them, their minutes."""
