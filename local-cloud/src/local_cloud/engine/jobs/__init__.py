"""Jobs: the queue, the attempts of each, its replicas' processes and their logs."""
