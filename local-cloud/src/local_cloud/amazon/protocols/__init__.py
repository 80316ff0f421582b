"""What Amazon's services share on the wire: one endpoint, their protocols, their errors."""
