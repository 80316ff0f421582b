"""Jobs: the queue, whose turn it is, the attempts of each, and what is on record."""
