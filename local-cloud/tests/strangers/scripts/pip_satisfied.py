# Installs what is there already, by `python -m pip`, by `pip`, and from a requirements file.
# exit: 0
# log: all requirements are there
import subprocess
import sys

with open("my-requirements.txt", "w") as f:
    f.write("# comment\nnumpy>=1.20\npandas\n\n")
subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "numpy"])
subprocess.check_call(["pip", "install", "-r", "my-requirements.txt"])
subprocess.run("pip3 install --upgrade --no-cache-dir scikit-learn", shell=True, check=True)
import numpy

print("all requirements are there")
