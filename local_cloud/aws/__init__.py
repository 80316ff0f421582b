"""What Amazon's services have in common on the wire: one door, their protocols, their errors."""
