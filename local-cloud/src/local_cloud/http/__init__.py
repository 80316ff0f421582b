"""What every service's HTTP shares: connections, the guard, bodies, downloads. Knows no cloud."""
