"""What a job's processes see of the machine: folders at given paths, networks of their own."""
