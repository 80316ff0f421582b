# Lowers its own limits, is nice to others, asks for its priority and for open files.
# exit: 0
# log: limits are set
import os
import resource

os.nice(5)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.umask(0o077)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print("limits are set", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0)
