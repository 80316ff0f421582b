"""What jobs cost: estimates with their sources, and a budget."""
