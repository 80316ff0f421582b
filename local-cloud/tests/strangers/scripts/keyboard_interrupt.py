# Ends by a KeyboardInterrupt that nobody catches.
# exit: failed
# log: KeyboardInterrupt
raise KeyboardInterrupt
