# os.fork with sys.exit in the child and os.wait in the parent.
# exit: 0
# log: child here
# log: child ended with 5
import os
import sys

print("before the fork", flush=True)
pid = os.fork()
if pid == 0:
    print("child here")
    sys.exit(5)
_, status = os.waitpid(pid, 0)
print("child ended with", os.waitstatus_to_exitcode(status))
