# Leaves a process behind that nobody waits for, with nohup and a session of its own.
# exit: 0
# log: left behind
# model: daemon.pid
# gone: daemon.pid
import os
import subprocess

p = subprocess.Popen("nohup sleep 300 >/dev/null 2>&1 & echo $!", shell=True, stdout=subprocess.PIPE, preexec_fn=os.setsid)
pid = int(p.communicate()[0])
folder = os.environ.get("SM_MODEL_DIR") or os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "daemon.pid"), "w") as f:
    f.write(str(pid))
print("left behind", pid)
