"""The lesson machine: from episodes to notebooks, and the checks that keep both true."""
