# A child that outlives the script and keeps its standard output open: the job ends all the same.
# only: vertex, vertex-trial: on SageMaker the SDK's driver and the toolkit read the output to its end, here as there
# exit: 0
# log: parent leaves
# model: child.pid
# gone: child.pid
import os
import subprocess
import sys

child = subprocess.Popen([sys.executable, "-c", "import time; print('child is here', flush=True); time.sleep(300)"])
folder = os.environ.get("SM_MODEL_DIR") or os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")
os.makedirs(folder, exist_ok=True)
open(os.path.join(folder, "child.pid"), "w").write(str(child.pid))
print("parent leaves")
