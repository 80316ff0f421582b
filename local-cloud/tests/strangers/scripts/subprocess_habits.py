# Shells, pipes, os.system, os.popen, and a try at nvidia-smi that is allowed to fail.
# exit: 0
# log: from a shell
# log: 3 lines through a pipe
# log: GPUs: none
# log: from os.system
import os
import subprocess
import sys

subprocess.run("echo from a shell | cat", shell=True, check=True)
p = subprocess.Popen(["sort"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
out, _ = p.communicate("c\na\nb\n")
print(len(out.split()), "lines through a pipe", flush=True)
try:
    gpus = subprocess.check_output(["nvidia-smi", "-L"], stderr=subprocess.DEVNULL).decode()
except (OSError, subprocess.CalledProcessError):
    gpus = ""
print("GPUs:", gpus if os.environ.get("CUDA_VISIBLE_DEVICES") else "none", flush=True)
os.system("echo from os.system")
with os.popen("uname -s") as f:
    print(f.read().strip(), file=sys.stderr)
assert subprocess.call([sys.executable, "-c", "import torch"]) == 0
