# Leaves at once by os._exit, with threads that still run.
# exit: 0
# log: out by the window
import os
import sys
import threading
import time

threading.Thread(target=time.sleep, args=(300,)).start()
print("out by the window")
sys.stdout.flush()
os._exit(0)
