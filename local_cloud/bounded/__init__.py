"""Read what somebody else has made, with a limit: bytes read, bytes unpacked, memory, seconds.

Whatever the server reads of a bucket or of a job's folder may have been made to hurt. Small texts
are read in the server, as far as a limit (files.py). What a library reads, and no argument of the
library limits, is read in a process of its own that may die (process.py).
"""
