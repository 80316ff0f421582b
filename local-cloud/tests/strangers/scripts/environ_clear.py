# Scrubs its environment before it starts a child, and before it goes on.
# exit: 0
# log: child has 0 or few variables
# model: left.txt
import os
import subprocess

folder = os.environ.get("SM_MODEL_DIR") or os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")
os.environ.clear()
out = subprocess.run(["/usr/bin/env"], env={}, capture_output=True, text=True).stdout
print("child has 0 or few variables", len(out.splitlines()))
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "left.txt"), "w") as f:
    f.write("done without an environment")
