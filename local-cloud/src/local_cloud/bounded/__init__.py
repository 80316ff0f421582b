"""Read files that may be hostile, with limits: bytes read, bytes unpacked, memory, seconds.

A file in a bucket or in a job's folder may have been made to do harm. The server itself reads
small texts, up to a limit (files.py). Where a library reads the file, and has no argument that
limits it, a separate process reads it, which may die (process.py).
"""
