# Installs a package that does not exist anywhere, and fails by it.
# exit: 1
# log: no-such-package-of-strangers
# log: CalledProcessError
import subprocess
import sys

subprocess.check_call([sys.executable, "-m", "pip", "install", "no-such-package-of-strangers==9.9"])
