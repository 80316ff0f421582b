# Knows nothing of signals and sleeps when it is cancelled.
# stop at: asleep
# exit: stopped
# log: asleep
import time

print("asleep", flush=True)
time.sleep(1000)
