# A daemon that scrubs its own environment, doubles its fork, closes everything and stays.
# exit: 0
# log: daemon on its own
# model: ghost.pid
# gone: ghost.pid
import os
import time

folder = os.environ.get("SM_MODEL_DIR") or os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")
os.makedirs(folder, exist_ok=True)
note = os.path.join(folder, "ghost.pid")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        with open(note + ".new", "w") as f:
            f.write(str(os.getpid()))
        os.rename(note + ".new", note)
        os.execve("/bin/sleep", ["sleep", "300"], {})
    os._exit(0)
while not os.path.exists(note):
    time.sleep(0.01)
print("daemon on its own")
