# Leaves with the exit code 3.
# exit: 3
# log: leaving with three
import sys

print("leaving with three")
sys.exit(3)
