"""The lesson's diagrams, drawn from source: `python -m tools.figures` writes episodes/fig/*.svg.

Each module draws one picture with the few shapes of tools.figures.drawing. The pictures have a
white ground of their own and one size of type, so they read the same on a light page and a dark
one, and on a telephone.
"""
