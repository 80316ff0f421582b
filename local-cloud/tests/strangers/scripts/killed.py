# Is killed, as by a machine that is out of memory.
# exit: failed
# log: the end is near
import os
import signal

print("the end is near", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
