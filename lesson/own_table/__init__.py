"""Prepare a table of your own: what its columns hold, what is predicted, and how it is scaled.

Reading and writing files is in lesson/preparation.py, whose prepare() calls arrays.py here.
"""
