"""Where the script runs without a service: this machine, a rented one, a cluster."""
