"""Charts and graphs, as lines of an SVG."""
