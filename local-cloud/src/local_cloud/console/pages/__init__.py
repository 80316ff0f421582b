"""The pages, by menu entry."""
