# Leaves by sys.exit with a sentence.
# exit: 1
# log: no data found, sorry
import sys

sys.exit("no data found, sorry")
